import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Response, Test } from 'supertest';
import { signedIn } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

/** Headers that differ between responses. */
const ownHeaders = ['date', 'x-request-id', 'connection', 'keep-alive'];

let app: TestApp;
let accessToken: string;
let password: string;
let email: string;
beforeAll(async () => {
  app = await startTestApp();
  const signedInPerson = await signedIn(app);
  accessToken = signedInPerson.tokens.access_token;
  email = signedInPerson.identity.email;
  password = signedInPerson.password;
});
afterAll(() => app.close());

// Paths match in any case.
const inCapitals = (path: string) => path.toUpperCase();

const requests: [string, (spelt: (path: string) => string) => Test][] = [
  ['GET /jwks', (spelt) => app.http.get(spelt('/jwks'))],
  ['GET /jwks of another origin', (spelt) => app.http.get(spelt('/jwks')).set('Origin', 'https://app.test')],
  ['GET /jwks that is known', (spelt) => app.http.get(spelt('/jwks')).set('If-None-Match', '*')],
  ['GET discovery', (spelt) => app.http.get(spelt('/.well-known/openid-configuration'))],
  ['GET /userinfo', (spelt) => app.http.get(spelt('/userinfo')).auth(accessToken, { type: 'bearer' })],
  ['GET /userinfo without a token', (spelt) => app.http.get(spelt('/userinfo'))],
  [
    'GET /userinfo with a bad token',
    (spelt) => app.http.get(spelt('/userinfo')).auth('x', { type: 'bearer' }),
  ],
  ['POST /token', (spelt) => app.http.post(spelt('/token')).send({ email, password })],
  ['POST /token as a form', (spelt) => app.http.post(spelt('/token')).type('form').send({ email, password })],
  ['POST /token, wrong', (spelt) => app.http.post(spelt('/token')).send({ email, password: 'wrong' })],
  ['POST /token, empty', (spelt) => app.http.post(spelt('/token')).send({})],
  ['POST /token, text', (spelt) => app.http.post(spelt('/token')).type('text/plain').send('x')],
  [
    'POST /token, large',
    (spelt) => app.http.post(spelt('/token')).send({ email, password: 'x'.repeat(20_000) }),
  ],
  ['POST /token, not JSON', (spelt) => app.http.post(spelt('/token')).type('json').send('{')],
  [
    'POST /token/refresh, wrong',
    (spelt) => app.http.post(spelt('/token/refresh')).send({ refresh_token: 'x' }),
  ],
];

describe('another spelling of a path', () => {
  it.each(requests)('gets the same response to %s', async (_name, send) => {
    const [usual, other] = [await send((path) => path), await send(inCapitals)];
    expect(essence(usual)).toEqual(essence(other));
  });

  it('gets the same response to POST /token/refresh', async () => {
    const refresh = async (path: string) => {
      const { tokens } = await signedIn(app);
      return app.http.post(path).send({ refresh_token: tokens.refresh_token }).expect(200);
    };
    const [usual, other] = [await refresh('/token/refresh'), await refresh('/TOKEN/REFRESH')];
    expect(essence(usual)).toEqual(essence(other));
  });
});

function essence({ status, headers, body }: Response) {
  const named = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name));
  const { request_id: _, access_token: access, refresh_token: refresh, ...members } = body;
  const tokens = { hasTokens: [typeof access, typeof refresh] };
  // Two tokens differ in their times and ids.
  const length = access === undefined ? headers['content-length'] : undefined;
  return { status, headers: { ...Object.fromEntries(named), 'content-length': length }, members, ...tokens };
}
