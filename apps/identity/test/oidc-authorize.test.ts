import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { createClient, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import {
  authorizationOf,
  aVerifier,
  exchange,
  formOf,
  nextCode,
  nextOf,
  oidcIssuer,
  parametersOf,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let client: CreatedClient;
let native: CreatedClient;
let person: { email: string; password: string };
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app, { redirect_uris: [redirectUri, `${redirectUri}?tenant=1`] });
  native = await createClient(app, {
    kind: 'public',
    redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]:80/callback', 'com.example.app:/callback'],
  });
  const { identity, password } = await createIdentity(app);
  person = { email: identity.email, password };
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const { challenge } = aVerifier();
const open = (
  overrides: Record<string, string | undefined> = {},
  of = client,
  browser = new TestBrowser(app),
) => browser.get('/oidc/authorize', authorizationOf(of, challenge, overrides));
const codeCount = async () =>
  (await app.sql<{ count: number }>('SELECT count(*)::int AS count FROM authorization_codes'))[0]?.count;

describe('a request that cannot go back to the application', () => {
  it.each<[string, Record<string, string | undefined>]>([
    ['an unknown client', { client_id: randomUUID() }],
    ['no client', { client_id: undefined }],
    ['a client that is no UUID', { client_id: "x' OR 1=1" }],
    ['no redirect URI', { redirect_uri: undefined }],
  ])('is refused by a page: %s', async (_name, overrides) => {
    const page = await open(overrides);
    expect(page.status).toBe(400);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.headers.location).toBeUndefined();
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  it.each([
    `${redirectUri}/`,
    `${redirectUri}?`,
    `${redirectUri}#`,
    `${redirectUri}?a=b`,
    `${redirectUri}%20`,
    `${redirectUri}/../evil`,
    `${redirectUri}/..;/evil`,
    `${redirectUri}\\`,
    ` ${redirectUri}`,
    `${redirectUri}\n`,
    `${redirectUri}\u0000`,
    'https://app.example/Callback',
    'https://APP.example/callback',
    'HTTPS://app.example/callback',
    'http://app.example/callback',
    'https://app.example:443/callback',
    'https://app.example.evil.example/callback',
    'https://evil.example/https://app.example/callback',
    'https://app.example@evil.example/callback',
    'https://evil.example\\@app.example/callback',
    'https://evil.example?https://app.example/callback',
    'https://evil.example#https://app.example/callback',
    '//app.example/callback',
    'app.example/callback',
    '/callback',
    'javascript:alert(1)//app.example/callback',
    'data:text/html,https://app.example/callback',
    'http://127.0.0.1:8080/callback',
    'https://app.example/callback%2f',
    'https://аpp.example/callback',
  ])('is refused for the redirect URI %j', async (uri) => {
    const page = await open({ redirect_uri: uri });
    expect([page.status, page.headers.location]).toEqual([400, undefined]);
    expect(page.text).not.toContain('differs');
  });

  it('is refused in the language that the application asks for', async () => {
    const wanted = { ui_locales: 'fr de' };
    const signIn = await open(wanted);
    const carried = authorizationOf(client, challenge, { ...wanted, redirect_uri: 'https://evil.example/' });
    const pages = [
      await open({ ...wanted, client_id: randomUUID() }),
      await open({ ...wanted, redirect_uri: 'https://evil.example/' }),
      await new TestBrowser(app).submit(signIn, formOf(carried)),
      await app.http.get('/oidc/authorize').query(wanted).set('Sec-Purpose', 'prefetch'),
    ];
    const seen = pages.map(({ status, headers }) => [status, headers['content-language']]);
    expect(seen).toEqual([...Array.from({ length: 3 }, () => [400, 'de']), [503, 'de']]);
  });

  it('is explained to the administrator only', async () => {
    const own = await createClient(app);
    const sent = 'https://app.example/Callback';
    const page = await open({ redirect_uri: sent }, own);
    expect(page.text).not.toContain(redirectUri);
    const { body } = await internal('get', `/internal/clients/${own.client_id}`).expect(200);
    expect(body.last_refusal).toEqual({ at: expect.any(String), sent, nearest: redirectUri, differs_at: 21 });
    const events = await app.sql(
      `SELECT details FROM audit_events WHERE type = 'client.redirect_refused' AND details ->> 'client' = $1`,
      [own.client_id],
    );
    expect(events).toEqual([
      { details: { client: own.client_id, sent, nearest: redirectUri, differsAt: 21 } },
    ]);
    for (let count = 0; count < 10; count += 1) await open({ redirect_uri: 'https://evil.example/' }, own);
    const [row] = await app.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM audit_events WHERE type = 'client.redirect_refused' AND details ->> 'client' = $1`,
      [own.client_id],
    );
    expect(row?.count).toBeLessThanOrEqual(6);
  });

  it.each([
    ['http://127.0.0.1:51004/callback', true],
    ['http://127.0.0.1/callback', true],
    ['http://[::1]:9/callback', true],
    ['com.example.app:/callback', true],
    ['http://127.0.0.1:99999/callback', false],
    ['http://127.0.0.1:0/callback', false],
    ['http://127.0.0.1:51004/other', false],
    ['http://localhost:51004/callback', false],
    ['http://127.0.0.1.evil.example/callback', false],
    ['http://127.0.0.1:51004@evil.example/callback', false],
    ['https://127.0.0.1:51004/callback', false],
    ['com.example.app:/callback/more', false],
  ])('%s is of a native application: %s', async (uri, isRegistered) => {
    expect((await open({ redirect_uri: uri }, native)).status).toBe(isRegistered ? 200 : 400);
  });
});

describe('an error that the application gets', () => {
  it.each<[string, Record<string, string | undefined>, string]>([
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['the implicit response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['a hybrid response type', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['no challenge but its method', { code_challenge: undefined }, 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method', { code_challenge_method: undefined }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'abc' }, 'invalid_request'],
    ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
    ['a request URI', { request_uri: 'https://app.example/r' }, 'request_uri_not_supported'],
    ['a registration', { registration: '{}' }, 'registration_not_supported'],
    ['no scope of the client', { scope: 'address phone' }, 'invalid_scope'],
    ['no scope', { scope: undefined }, 'invalid_scope'],
    ['prompt none beside another', { prompt: 'none login' }, 'invalid_request'],
    ['an unknown prompt', { prompt: 'create' }, 'invalid_request'],
    ['a negative max_age', { max_age: '-1' }, 'invalid_request'],
    ['a long nonce', { nonce: 'n'.repeat(1025) }, 'invalid_request'],
    ['a nonce with U+0000', { nonce: 'a\u0000' }, 'invalid_request'],
    ['prompt none without a session', { prompt: 'none' }, 'login_required'],
  ])('is a redirect with state and iss: %s', async (_name, overrides, error) => {
    const response = await open(overrides);
    expect(response.status).toBe(303);
    expect(parametersOf(nextOf(response))).toEqual({
      error,
      error_description: expect.any(String),
      state: 'state-1',
      iss: oidcIssuer,
    });
  });

  it.each(['scope', 'state', 'nonce', 'code_challenge', 'prompt'])(
    'is one for a repeated %s',
    async (name) => {
      const query = new URLSearchParams({ prompt: 'none', ...authorizationOf(client, challenge) });
      query.append(name, 'x');
      const response = await app.http.get(`/oidc/authorize?${query}`).redirects(0);
      expect(nextOf(response).searchParams.get('error')).toBe('invalid_request');
      expect(nextOf(response).searchParams.has('state')).toBe(name !== 'state');
    },
  );

  it.each(['client_id', 'redirect_uri'])('is a page for a repeated %s', async (name) => {
    const query = new URLSearchParams(authorizationOf(client, challenge));
    query.append(name, query.get(name) ?? '');
    expect((await app.http.get(`/oidc/authorize?${query}`)).status).toBe(400);
  });

  it('keeps the query of a redirect URI', async () => {
    const response = await open({ redirect_uri: `${redirectUri}?tenant=1`, prompt: 'none' });
    expect(parametersOf(nextOf(response))).toMatchObject({ tenant: '1', error: 'login_required' });
  });
});

const newPerson = async () => {
  const { identity, password } = await createIdentity(app);
  return { email: identity.email, password };
};

describe('a request of a browser', () => {
  it('is not answered in advance', async () => {
    const { browser } = await signInFor(app, client, person);
    const before = await codeCount();
    for (const purpose of ['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip']) {
      const response = await app.http
        .get('/oidc/authorize')
        .query(authorizationOf(client, challenge))
        .set('Cookie', browser.cookie ?? '')
        .set('Sec-Purpose', purpose);
      expect(response.status).toBe(503);
    }
    const head = await app.http
      .head('/oidc/authorize')
      .query(authorizationOf(client, challenge))
      .set('Cookie', browser.cookie ?? '');
    expect(head.status).toBe(503);
    expect(await codeCount()).toBe(before);
  });

  it('by POST becomes a GET, because a form of another site has no cookie', async () => {
    const response = await app.http
      .post('/oidc/authorize')
      .type('form')
      .set('Sec-Fetch-Site', 'cross-site')
      .send(authorizationOf(client, challenge))
      .redirects(0);
    expect(response.status).toBe(303);
    const next = nextOf(response);
    expect(next.pathname).toBe('/oidc/authorize');
    expect(parametersOf(next)).toEqual(authorizationOf(client, challenge));
  });

  it('leaves no code, state and query in the log', async () => {
    const { code } = await signInFor(app, client, person, { state: 'secret-state' });
    await open({ login_hint: 'secret-hint@example.com' });
    const log = app.log.lines.join('');
    for (const secret of [code, 'secret-state', 'secret-hint', challenge]) expect(log).not.toContain(secret);
  });

  it('gets at most 100 codes of a client that are valid at the same time; used ones do not count', async () => {
    const { browser, ...used } = await signInFor(app, client, await newPerson());
    await exchange(app, client, used).expect(200);
    for (let count = 0; count < 100; count += 1) await nextCode(browser, client);
    const { response } = await nextCode(browser, client);
    expect(nextOf(response).searchParams.get('error')).toBe('temporarily_unavailable');
    expect((await nextCode(browser, await createClient(app))).code).not.toBe('');
  });
});
