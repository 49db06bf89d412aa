import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { createClient, createMachine, redirectUri } from './support/clients.ts';
import { createIdentity, signIn, updateIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import {
  basic,
  claimsOf,
  exchange,
  nextCode,
  oidcIssuer,
  postForm,
  signInFor,
  type TestBrowser,
} from './support/oidc.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let client: CreatedClient;
let other: CreatedClient;
let person: { email: string; password: string };
let identityId: string;
let browser: TestBrowser;
beforeAll(async () => {
  app = await startTestApp({
    HOSTED_SIGN_IN: 'on',
    RATE_LIMIT_TOKENS_PER_MINUTE: '0',
    REFRESH_REUSE_LEEWAY_SECONDS: '0',
  });
  client = await createClient(app, { require_pkce: false, audiences: ['tessera', 'billing'] });
  other = await createClient(app);
  const { identity, password } = await createIdentity(app);
  identityId = identity.id;
  person = { email: identity.email, password };
  ({ browser } = await signInFor(app, client, person));
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const tokensOf = async (overrides: Record<string, string | undefined> = {}) =>
  (await exchange(app, client, await nextCode(browser, client, overrides)).expect(200)).body;
const refresh = (token: string, by: CreatedClient, fields: Record<string, string> = {}) =>
  postForm(app, '/oidc/token', { grant_type: 'refresh_token', refresh_token: token, ...fields }, by);
const familyCount = async (where: string) =>
  (await app.sql<{ count: number }>(`SELECT count(*)::int AS count FROM token_families WHERE ${where}`))[0]
    ?.count;

describe('the exchange of a code', () => {
  it('is possible once; a second use ends exactly its family', async () => {
    const kept = await tokensOf();
    const code = await nextCode(browser, client);
    const { body } = await exchange(app, client, code).expect(200);
    const again = await exchange(app, client, code);
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
    expect((await refresh(body.refresh_token, client)).body.error).toBe('invalid_grant');
    await refresh(kept.refresh_token, client).expect(200);
    expect(await familyCount(`revoke_reason = 'code_reused'`)).toBe(1);
    const events = await app.sql(`SELECT details FROM audit_events WHERE type = 'code.reuse_detected'`);
    expect(events).toHaveLength(1);
  });

  it('detects the second use also after the code has expired', async () => {
    const code = await nextCode(browser, client);
    const { body } = await exchange(app, client, code).expect(200);
    await app.sql(`UPDATE authorization_codes SET expires_at = now() - interval '30 seconds'`);
    await exchange(app, client, code).expect(400);
    await refresh(body.refresh_token, client).expect(400);
  });

  it.each<[string, Record<string, string | undefined>]>([
    ['another redirect URI', { redirect_uri: `${redirectUri}/` }],
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['no verifier', { code_verifier: undefined }],
    ['a malformed verifier', { code_verifier: 'short' }],
    ['another code', { code: 'x'.repeat(64) }],
    ['a malformed code', { code: 'x'.repeat(43) }],
  ])('refuses %s, and leaves the code unused', async (_name, overrides) => {
    const code = await nextCode(browser, client);
    const refused = await exchange(app, client, code, overrides);
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
    await exchange(app, client, code).expect(200);
  });

  it('refuses the code with the id of another person, of whose quota it would be', async () => {
    const code = await nextCode(browser, client);
    const forged = Buffer.from(code.code, 'base64url');
    forged[40] = (forged[40] ?? 0) ^ 1;
    await exchange(app, client, { ...code, code: forged.toString('base64url') }).expect(400);
    await exchange(app, client, code).expect(200);
  });

  it('refuses a verifier for a code without a challenge (PKCE downgrade)', async () => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    const code = await nextCode(browser, client, without);
    await exchange(app, client, code).expect(400);
    await exchange(app, client, code, { code_verifier: undefined }).expect(200);
  });

  it('refuses the code of another client', async () => {
    const code = await nextCode(browser, client);
    await exchange(app, other, code).expect(400);
    await exchange(app, client, code).expect(200);
  });

  it('refuses an expired code, and one of a session that has ended', async () => {
    const expired = await nextCode(browser, client);
    await app.sql(`UPDATE authorization_codes SET expires_at = now() WHERE used_at IS NULL`);
    await exchange(app, client, expired).expect(400);
    const late = await signInFor(app, client, person);
    await late.browser.post('/oidc/logout', { decision: 'sign_out' });
    await exchange(app, client, late).expect(400);
  });

  it.each([
    [{ grant_type: 'authorization_code' }, 400, 'invalid_request'],
    [{}, 400, 'invalid_request'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
    [{ grant_type: 'client_credentials' }, 400, 'unauthorized_client'],
    [{ grant_type: 'refresh_token' }, 400, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    [{ grant_type: 'authorization_code', code: 'x'.repeat(2001) }, 400, 'invalid_request'],
  ])('answers %j with %i %s', async (fields, status, error) => {
    const { body, ...response } = await postForm(app, '/oidc/token', fields, client);
    expect([response.status, body.error]).toEqual([status, error]);
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it('accepts forms only, of at most 16 KiB, with each parameter once', async () => {
    const post = () => app.http.post('/oidc/token').set('Authorization', basic(client));
    await post().send({ grant_type: 'authorization_code' }).expect(415);
    // Other clients give each body a type.
    const headers = { Authorization: basic(client) };
    const untyped = await fetch(`${app.url}/oidc/token`, {
      method: 'POST',
      headers,
      body: Buffer.from('code=x'),
    });
    expect(untyped.status).toBe(415);
    expect(await untyped.text()).toContain('must be application/x-www-form-urlencoded');
    await post()
      .type('form')
      .send(`code=${'x'.repeat(17_000)}`)
      .expect(413);
    const twice = await post().type('form').send('grant_type=a&grant_type=b').expect(400);
    expect(twice.body.error).toBe('invalid_request');
  });
});

describe('the audience of an access token', () => {
  it('is the first of the client, the one of resource, or the user information only', async () => {
    expect(claimsOf((await tokensOf()).access_token).aud).toBe('tessera');
    const billing = await tokensOf({ resource: 'billing' });
    expect(claimsOf(billing.access_token).aud).toBe('billing');
    const bearer = `Bearer ${billing.access_token}`;
    await app.http.get('/oidc/userinfo').set('Authorization', bearer).expect(200);
    await app.http.get('/userinfo').set('Authorization', bearer).expect(401);
    const { response } = await nextCode(browser, client, { resource: 'elsewhere' });
    expect(response.headers.location).toContain('error=invalid_target');
    const wrong = await refresh(billing.refresh_token, client, { resource: 'elsewhere' });
    expect(wrong.body.error).toBe('invalid_target');
    const { body } = await refresh(billing.refresh_token, client, { resource: 'billing' }).expect(200);
    expect(claimsOf(body.access_token).aud).toBe('billing');
    const again = await refresh(body.refresh_token, client).expect(200);
    expect(claimsOf(again.body.access_token).aud).toBe('billing');
  });

  it('is never another one than that of the sign-in (RFC 8707 2.2)', async () => {
    for (const [granted, asked] of [
      [undefined, 'billing'],
      ['billing', 'tessera'],
      ['billing', 'evil'],
    ] as const) {
      const code = await nextCode(browser, client, { resource: granted });
      const refused = await exchange(app, client, code, { resource: asked });
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target']);
      const { body } = await exchange(app, client, code, { resource: granted }).expect(200);
      expect(claimsOf(body.access_token).aud).toBe(granted ?? 'tessera');
      const wider = await refresh(body.refresh_token, client, { resource: asked });
      expect([wider.status, wider.body.error]).toEqual([400, 'invalid_target']);
      await refresh(body.refresh_token, client).expect(200);
    }
    const none = await exchange(app, other, await nextCode(browser, other), { resource: 'tessera' });
    expect(none.body.error).toBe('invalid_target');
  });
});

describe('a refresh token', () => {
  it('of a client is refused at /token/refresh, by another client and at /token/revoke, and stays usable', async () => {
    const { refresh_token: token } = await tokensOf();
    await app.http.post('/token/refresh').send({ refresh_token: token }).expect(401);
    expect((await refresh(token, other)).body.error).toBe('invalid_grant');
    await app.http.post('/token/revoke').send({ token }).expect(200);
    await postForm(app, '/oidc/revoke', { token }, other).expect(200);
    await refresh(token, client).expect(200);
  });

  it('of the password grant is refused at /oidc/token, and stays usable', async () => {
    const { refresh_token: token } = await signIn(app, person.email, person.password);
    expect((await refresh(token, client)).body.error).toBe('invalid_grant');
    await postForm(app, '/oidc/revoke', { token }, client).expect(200);
    await app.http.post('/token/refresh').send({ refresh_token: token }).expect(200);
  });

  it('may get a narrower scope; a wider one is refused and leaves it unused', async () => {
    const { refresh_token: token } = await tokensOf({ scope: 'openid email' });
    const wider = await refresh(token, client, { scope: 'openid profile' });
    expect([wider.status, wider.body.error]).toEqual([400, 'invalid_scope']);
    const { body } = await refresh(token, client, { scope: 'openid' }).expect(200);
    expect(body.scope).toBe('openid');
    expect((await refresh(body.refresh_token, client).expect(200)).body.scope).toBe('openid email');
  });

  it('ends its family when it is used again', async () => {
    const { refresh_token: token } = await tokensOf();
    const { body } = await refresh(token, client).expect(200);
    await refresh(token, client).expect(400);
    await refresh(body.refresh_token, client).expect(400);
  });

  it('is revoked by its client; other tokens are ignored', async () => {
    const { refresh_token: token, access_token: access } = await tokensOf();
    const kept = await postForm(app, '/oidc/revoke', { token: access }, client);
    expect([kept.status, kept.body.error]).toEqual([400, 'unsupported_token_type']);
    for (const ignored of ['x', token])
      await postForm(app, '/oidc/revoke', { token: ignored }, client).expect(200);
    await refresh(token, client).expect(400);
    const anonymous = await app.http.post('/oidc/revoke').type('form').send({ token });
    expect([anonymous.status, anonymous.body.error]).toEqual([401, 'invalid_client']);
  });

  it('ends with all sessions of the person, as the sign-in of the browser does', async () => {
    const { identity, password } = await createIdentity(app);
    const signedIn = await signInFor(app, client, { email: identity.email, password });
    const { body } = await exchange(app, client, signedIn).expect(200);
    const pending = await nextCode(signedIn.browser, client);
    await internal('delete', `/internal/identities/${identity.id}/sessions`).expect(204);
    await refresh(body.refresh_token, client).expect(400);
    await exchange(app, client, pending).expect(400);
    expect((await nextCodePage(signedIn.browser)).status).toBe(200);
    const userInfo = await app.http.get('/oidc/userinfo').set('Authorization', `Bearer ${body.access_token}`);
    expect(userInfo.status).toBe(401);
  });

  const nextCodePage = (of: TestBrowser) =>
    of.get('/oidc/authorize', {
      client_id: other.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    });

  it('loses what is taken from the client', async () => {
    const reduced = await createClient(app, { audiences: ['tessera'] });
    const code = await nextCode(browser, reduced);
    const { body } = await exchange(app, reduced, code).expect(200);
    await app.http
      .patch(`/internal/clients/${reduced.client_id}`)
      .set('X-Service-Token', app.config.serviceTokens.current)
      .send({ audiences: [], scopes: ['openid'] })
      .expect(200);
    const after = await refresh(body.refresh_token, reduced).expect(200);
    expect(after.body.scope).toBe('openid');
    expect(claimsOf(after.body.access_token).aud).toBe(`${oidcIssuer}/userinfo`);
  });
});

describe('the introspection', () => {
  it('knows access tokens of clients, for whichever audience', async () => {
    const userInfoOnly = await exchange(app, other, await nextCode(browser, other)).expect(200);
    const introspect = async (token: string) =>
      (await internal('post', '/internal/introspect').send({ token }).expect(200)).body;
    for (const { access_token: token } of [await tokensOf({ resource: 'billing' }), userInfoOnly.body]) {
      const { aud, sub } = claimsOf(token);
      expect(await introspect(token)).toMatchObject({ active: true, aud, sub, token_use: 'access_token' });
      expect(await introspect(`${token.slice(0, -8)}AAAAAAAA`)).toEqual({ active: false });
    }
    expect(await introspect(userInfoOnly.body.id_token)).toEqual({ active: false });
  });
});

describe('the user information', () => {
  it('is for access tokens of clients with openid, by header and body', async () => {
    const { access_token: token, id_token: idToken } = await tokensOf({ scope: 'openid' });
    const bearer = (value: string) => ['Authorization', `Bearer ${value}`] as const;
    const subject = { sub: identityId };
    expect(
      (
        await app.http
          .get('/oidc/userinfo')
          .set(...bearer(token))
          .expect(200)
      ).body,
    ).toEqual(subject);
    expect(
      (
        await app.http
          .post('/oidc/userinfo')
          .set(...bearer(token))
          .expect(200)
      ).body,
    ).toEqual(subject);
    const form = await app.http.post('/oidc/userinfo').type('form').send({ access_token: token });
    expect(form.body).toEqual(subject);
    const twice = await app.http
      .post('/oidc/userinfo')
      .set(...bearer(token))
      .type('form')
      .send({ access_token: token });
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request']);
    const password = await signIn(app, person.email, person.password);
    for (const wrong of [idToken, password.access_token, password.refresh_token, 'x']) {
      const refused = await app.http.get('/oidc/userinfo').set(...bearer(wrong));
      expect([refused.status, refused.body.error]).toEqual([401, 'invalid_token']);
    }
    const none = await app.http.get('/oidc/userinfo').expect(401);
    expect(none.headers['www-authenticate']).toBe('Bearer realm="oidc"');
  });

  it('is refused without the scope openid', async () => {
    const { access_token: token, id_token: idToken } = await tokensOf({ scope: 'email' });
    expect(idToken).toBeUndefined();
    const refused = await app.http.get('/oidc/userinfo').set('Authorization', `Bearer ${token}`);
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope']);
  });
});

describe('a machine', () => {
  it('gets an access token of its identity, and no other', async () => {
    const { client: machine, identity } = await createMachine(app, { audiences: ['tessera'] });
    const { body } = await postForm(app, '/oidc/token', { grant_type: 'client_credentials' }, machine).expect(
      200,
    );
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'token_type']);
    expect(claimsOf(body.access_token)).toMatchObject({
      iss: issuer,
      sub: identity.id,
      aud: 'tessera',
      type: 'access',
    });
    await app.http.get('/userinfo').set('Authorization', `Bearer ${body.access_token}`).expect(200);
    const fields = { grant_type: 'client_credentials', scope: 'openid other' };
    expect((await postForm(app, '/oidc/token', fields, machine).expect(200)).body.scope).toBeUndefined();
    const code = await postForm(app, '/oidc/token', { grant_type: 'authorization_code', code: 'x' }, machine);
    expect(code.body.error).toBe('unauthorized_client');
    await updateIdentity(app, identity.id, { is_active: false });
    const inactive = await postForm(app, '/oidc/token', { grant_type: 'client_credentials' }, machine);
    expect([inactive.status, inactive.body.error]).toEqual([400, 'invalid_grant']);
  });
});
