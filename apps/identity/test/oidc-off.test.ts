import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIdentity, signIn } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const paths = [
  ...['GET /oidc/authorize', 'POST /oidc/authorize', 'POST /oidc/token', 'POST /oidc/revoke'],
  ...['GET /oidc/userinfo', 'POST /oidc/userinfo', 'GET /oidc/logout', 'POST /oidc/logout'],
  ...['GET /oidc/.well-known/openid-configuration', 'GET /.well-known/oauth-authorization-server/oidc'],
  ...['GET /sign-in', 'POST /sign-in', 'POST /sign-in/consent'],
  ...['POST /internal/clients', 'GET /internal/clients', `GET /internal/clients/${unknownId}`],
  ...[`PATCH /internal/clients/${unknownId}`, `POST /internal/clients/${unknownId}/rotate-secret`],
  `DELETE /internal/clients/${unknownId}`,
];

let on: TestApp;
let off: TestApp;
beforeAll(async () => {
  off = await startTestApp();
  on = await startTestApp({ HOSTED_SIGN_IN: 'on' }, off.databaseUrl);
});
afterAll(async () => {
  await on.close();
  await off.close();
});

const send = async (app: TestApp, line: string) => {
  const [method = '', path = ''] = line.split(' ');
  const headers = { 'X-Service-Token': serviceToken, 'X-Request-Id': 'fixed' };
  const response = await fetch(`${app.url}${path}`, { method, headers, redirect: 'manual' });
  return {
    status: response.status,
    text: await response.text(),
    headers: Object.fromEntries(response.headers),
  };
};

describe('HOSTED_SIGN_IN=off', () => {
  it.each(paths)('answers %s with 404', async (line) => {
    expect((await send(off, line)).status).toBe(404);
    expect((await send(on, line)).status).not.toBe(405);
  });

  it('creates nothing for the sign-in', () => {
    expect(off.dependencies.signIn).toBeUndefined();
  });
});

describe('the documents of the service', () => {
  // SHA-256 of what the service sent before the sign-in for applications existed.
  it('have the bytes from before, with and without it', async () => {
    for (const app of [off, on]) {
      const { text } = await send(app, 'GET /.well-known/openid-configuration');
      expect(createHash('sha256').update(text).digest('hex')).toBe(
        'fb106408803dc6e8c02ddd1679e1cc505e0bd7f692f5966da71251f6102c8c93',
      );
    }
  });

  it('are the same with and without it', async () => {
    const { identity, password } = await createIdentity(off);
    const { access_token: token } = await signIn(off, identity.email, password);
    const requests = [
      'GET /.well-known/openid-configuration',
      'GET /jwks',
      'GET /userinfo',
      'POST /token',
      'POST /token/refresh',
      'POST /token/revoke',
      `GET /internal/identities/${identity.id}`,
      `GET /internal/identities/${unknownId}`,
      'GET /api/openapi.json',
      'GET /nothing',
    ];
    for (const line of requests) {
      const [one, two] = [await send(off, line), await send(on, line)];
      for (const { headers } of [one, two]) delete headers.date;
      expect([line, two]).toEqual([line, one]);
    }
    for (const app of [off, on]) {
      const { body } = await app.http.get('/userinfo').set('Authorization', `Bearer ${token}`).expect(200);
      expect(Object.keys(body)).toEqual(['sub', 'email', 'email_verified', 'preferred_username']);
      const tokens = await app.http
        .post('/token')
        .send({ grant_type: 'password', email: identity.email, password });
      expect(Object.keys(tokens.body)).toEqual(['access_token', 'refresh_token', 'token_type', 'expires_in']);
      const refreshed = await app.http
        .post('/token/refresh')
        .send({ refresh_token: tokens.body.refresh_token });
      expect(Object.keys(refreshed.body)).toEqual(Object.keys(tokens.body));
      const introspect = internalClient(() => app)('post', '/internal/introspect');
      expect(Object.keys((await introspect.send({ token: tokens.body.access_token })).body)).toEqual([
        ...['active', 'iss', 'sub', 'aud', 'iat', 'exp', 'jti', 'username', 'token_use', 'token_type'],
      ]);
    }
  });
});
