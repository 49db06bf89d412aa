import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { Response } from 'supertest';
import { createClient, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import {
  authorizationOf,
  aVerifier,
  basic,
  claimsOf,
  exchange,
  nextCode,
  nextOf,
  oidcIssuer,
  parametersOf,
  postForm,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

// The suite of the OpenID Foundation needs Java and MongoDB. These are its modules, by their subjects, with plain requests.
const goodbye = 'https://app.example/goodbye?from=tessera';
let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
let sub: string;
let browser: TestBrowser;
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app, {
    require_pkce: false,
    scopes: ['openid', 'email', 'profile', 'groups'],
    post_logout_redirect_uris: [goodbye],
  });
  const { identity, password } = await createIdentity(app, { display_name: 'Ann Lee', is_verified: true });
  sub = identity.id;
  person = { email: identity.email, password };
  ({ browser } = await signInFor(app, client, person));
});
const results: string[] = [];
afterAll(async () => {
  process.stdout.write(`Modules of the conformance suite:\n${results.map((line) => `  ${line}\n`).join('')}`);
  await app.close();
});

const open = (overrides: Record<string, string | undefined> = {}, by = browser) =>
  by.get('/oidc/authorize', authorizationOf(client, aVerifier().challenge, overrides));
const errorOf = (response: Response) => nextOf(response).searchParams.get('error');
const tokensOf = async (overrides: Record<string, string | undefined> = {}) =>
  (await exchange(app, client, await nextCode(browser, client, overrides)).expect(200)).body;
const userInfo = (token: string, method: 'get' | 'post' = 'get') =>
  app.http[method]('/oidc/userinfo').set('Authorization', `Bearer ${token}`);
const logout = async (parameters: Record<string, string>) => {
  const { browser: own, code, verifier } = await signInFor(app, client, person);
  const { body } = await exchange(app, client, { code, verifier }).expect(200);
  const all = Object.entries({
    id_token_hint: body.id_token,
    post_logout_redirect_uri: goodbye,
    state: 's',
    ...parameters,
  });
  return own.get('/oidc/logout', Object.fromEntries(all.filter(([, value]) => value !== '')));
};
const verified = async (token: string) => {
  const { body: keys } = await app.http.get('/jwks');
  return (await jwtVerify(token, createLocalJWKSet(keys), { issuer: oidcIssuer, audience: client.client_id }))
    .payload;
};

/** Modules of the certification profiles, each with its test. */
const basicOp: Record<string, () => Promise<void>> = {
  'response type code': async () => expect((await open()).status).toBe(303),
  'response type missing': async () =>
    expect(errorOf(await open({ response_type: undefined }))).toBe('invalid_request'),
  'ID token signature RS256': async () => {
    const { id_token: token } = await tokensOf();
    expect(JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString())).toMatchObject({
      alg: 'RS256',
      kid: 'identity-key-1',
    });
    expect((await verified(token)).sub).toBe(sub);
  },
  'user information by GET with the header': async () =>
    expect((await userInfo((await tokensOf()).access_token)).body.sub).toBe(sub),
  'user information by POST with the header': async () =>
    expect((await userInfo((await tokensOf()).access_token, 'post')).body.sub).toBe(sub),
  'user information by POST with the body': async () => {
    const { access_token } = await tokensOf();
    expect((await app.http.post('/oidc/userinfo').type('form').send({ access_token })).body.sub).toBe(sub);
  },
  'no nonce': async () =>
    expect((await verified((await tokensOf({ nonce: undefined })).id_token)).nonce).toBeUndefined(),
  nonce: async () => expect((await verified((await tokensOf({ nonce: 'n-2' })).id_token)).nonce).toBe('n-2'),
  'scope profile': async () => {
    const { access_token, scope } = await tokensOf({ scope: 'openid profile' });
    expect(scope).toBe('openid profile');
    expect((await userInfo(access_token)).body).toEqual({
      sub,
      name: 'Ann Lee',
      preferred_username: expect.any(String),
    });
  },
  'scope email': async () => {
    const { access_token } = await tokensOf({ scope: 'openid email' });
    expect((await userInfo(access_token)).body).toEqual({ sub, email: person.email, email_verified: true });
  },
  'scope address': async () => expect((await tokensOf({ scope: 'openid address' })).scope).toBe('openid'),
  'scope phone': async () => expect((await tokensOf({ scope: 'openid phone' })).scope).toBe('openid'),
  'scope all': async () =>
    expect((await tokensOf({ scope: 'openid profile email address phone' })).scope).toBe(
      'openid email profile',
    ),
  'scopes in another order': async () =>
    expect((await tokensOf({ scope: 'email openid' })).scope.split(' ').sort()).toEqual(['email', 'openid']),
  'display page': async () => expect((await open({ display: 'page' })).status).toBe(303),
  'display popup': async () => expect((await open({ display: 'popup' })).status).toBe(303),
  'prompt login': async () => {
    const first = await tokensOf();
    const page = await open({ prompt: 'login' });
    expect(page.status).toBe(200);
    await app.sql(`UPDATE sso_sessions SET auth_time = auth_time - interval '30 seconds'`);
    const { verifier, challenge } = aVerifier();
    const again = await browser.get(
      '/oidc/authorize',
      authorizationOf(client, challenge, { prompt: 'login' }),
    );
    const code = nextOf(await browser.submit(again, person)).searchParams.get('code') ?? '';
    const { body } = await exchange(app, client, { code, verifier }).expect(200);
    expect(Number(claimsOf(body.id_token).auth_time)).toBeGreaterThanOrEqual(
      Number(claimsOf(first.id_token).auth_time),
    );
  },
  'prompt none, not signed in': async () =>
    expect(errorOf(await open({ prompt: 'none' }, new TestBrowser(app)))).toBe('login_required'),
  'prompt none, signed in': async () =>
    expect(parametersOf(nextOf(await open({ prompt: 'none' }))).code).toBeDefined(),
  'max-age 1': async () => {
    await app.sql(`UPDATE sso_sessions SET auth_time = auth_time - interval '2 seconds'`);
    expect((await open({ max_age: '1' })).status).toBe(200);
  },
  'max-age 10000': async () => {
    const { id_token: token } = await tokensOf({ max_age: '10000' });
    expect(claimsOf(token).auth_time).toEqual(expect.any(Number));
  },
  'unknown parameter': async () => expect((await open({ extra: 'foobar' })).status).toBe(303),
  'ID token hint': async () => {
    const { id_token } = await tokensOf();
    expect((await verified((await tokensOf({ prompt: 'none', id_token_hint: id_token })).id_token)).sub).toBe(
      sub,
    );
  },
  'login hint': async () => {
    const page = await open({ login_hint: 'bob@example.com' }, new TestBrowser(app));
    expect(page.text).toContain('value="bob@example.com"');
  },
  ui_locales: async () =>
    expect((await open({ ui_locales: 'de' }, new TestBrowser(app))).headers['content-language']).toBe('de'),
  claims_locales: async () => expect((await open({ claims_locales: 'se' })).status).toBe(303),
  acr_values: async () =>
    expect((await verified((await tokensOf({ acr_values: '1 2' })).id_token)).acr).toBe('aal1'),
  'code reuse at once': async () => {
    const code = await nextCode(browser, client);
    await exchange(app, client, code).expect(200);
    expect((await exchange(app, client, code)).body.error).toBe('invalid_grant');
  },
  'code reuse after 30 seconds': async () => {
    const code = await nextCode(browser, client);
    const { body } = await exchange(app, client, code).expect(200);
    await app.sql(`UPDATE authorization_codes SET used_at = used_at - interval '30 seconds'`);
    expect((await exchange(app, client, code)).body.error).toBe('invalid_grant');
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
    await postForm(app, '/oidc/token', refresh, client).expect(400);
  },
  'registered redirect URI': async () =>
    expect((await open({ redirect_uri: `${redirectUri}x` })).status).toBe(400),
  'POST authorize': async () => {
    const fields = authorizationOf(client, aVerifier().challenge);
    const next = nextOf(await browser.post('/oidc/authorize', fields));
    expect((await browser.get(next.pathname, parametersOf(next))).status).toBe(303);
  },
  client_secret_post: async () => {
    const { client_id, client_secret } = client;
    const { code, verifier } = await nextCode(browser, client);
    const grant = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    };
    await app.http
      .post('/oidc/token')
      .type('form')
      .send({ ...grant, client_id, client_secret })
      .expect(200);
  },
  client_secret_basic: async () => {
    const { code, verifier } = await nextCode(browser, client);
    const grant = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    };
    await app.http
      .post('/oidc/token')
      .type('form')
      .set('Authorization', basic(client))
      .send(grant)
      .expect(200);
  },
  'request object refused': async () =>
    expect(errorOf(await open({ request: 'e30.e30.' }))).toBe('request_not_supported'),
  'request URI refused': async () =>
    expect(errorOf(await open({ request_uri: 'https://app.example/' }))).toBe('request_uri_not_supported'),
  'claims essential': async () =>
    expect((await open({ claims: '{"userinfo":{"name":{"essential":true}}}' })).status).toBe(303),
  'refresh token': async () => {
    const { refresh_token, id_token } = await tokensOf();
    const refresh = { grant_type: 'refresh_token', refresh_token };
    const { body } = await postForm(app, '/oidc/token', refresh, client).expect(200);
    expect((await verified(body.id_token)).auth_time).toBe(claimsOf(id_token).auth_time);
  },
  'PKCE S256': async () => {
    const { code, verifier } = await nextCode(browser, client);
    await exchange(app, client, { code, verifier: `${verifier}x` }).expect(400);
    await exchange(app, client, { code, verifier }).expect(200);
  },
};

const configOp: Record<string, () => Promise<void>> = {
  discovery: async () => {
    const { body } = await app.http.get('/oidc/.well-known/openid-configuration').expect(200);
    expect((await app.http.get('/.well-known/oauth-authorization-server/oidc')).body).toEqual(body);
    expect(body).toMatchObject({
      issuer: oidcIssuer,
      authorization_endpoint: `${oidcIssuer}/authorize`,
      token_endpoint: `${oidcIssuer}/token`,
      userinfo_endpoint: `${oidcIssuer}/userinfo`,
      revocation_endpoint: `${oidcIssuer}/revoke`,
      end_session_endpoint: `${oidcIssuer}/logout`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
      backchannel_logout_supported: true,
    });
    expect(body.registration_endpoint).toBeUndefined();
  },
  'key set': async () => expect((await app.http.get('/jwks')).body.keys).toHaveLength(1),
};

const logoutOp: Record<string, () => Promise<void>> = {
  'discovery of the end session endpoint': async () =>
    expect(
      (await app.http.get('/oidc/.well-known/openid-configuration')).body.end_session_endpoint,
    ).toBeDefined(),
  logout: async () => expect(nextOf(await logout({})).href).toBe(`${goodbye}&state=s`),
  'bad redirect URI': async () =>
    expect((await logout({ post_logout_redirect_uri: 'https://evil.example/' })).status).toBe(400),
  'modified hint': async () =>
    expect((await logout({ id_token_hint: 'e30.e30.eA' })).text).toContain('value="sign_out"'),
  'bad hint': async () => expect((await logout({ id_token_hint: 'x' })).text).toContain('value="sign_out"'),
  'no hint': async () => expect((await logout({ id_token_hint: '' })).text).toContain('value="sign_out"'),
  'no parameters': async () =>
    expect((await logout({ id_token_hint: '', post_logout_redirect_uri: '', state: '' })).status).toBe(200),
  'no state': async () => expect(nextOf(await logout({ state: '' })).href).toBe(goodbye),
  'only state': async () =>
    expect((await logout({ id_token_hint: '', post_logout_redirect_uri: '' })).status).toBe(200),
  'query added': async () =>
    expect((await logout({ post_logout_redirect_uri: `${goodbye}&a=b` })).status).toBe(400),
};

/** Modules that do not apply, with the reason, and the member of the discovery document that says so. */
const notApplicable: [module: string, reason: string, member: string, value: unknown][] = [
  [
    'claims of address and phone',
    'no such data',
    'scopes_supported',
    ['openid', 'email', 'profile', 'groups'],
  ],
  ['request object with redirect URI', 'clients are registered', 'request_parameter_supported', false],
  ['dynamic registration', 'administrators register clients', 'registration_endpoint', undefined],
  ['front-channel logout', 'browsers block its cookies', 'frontchannel_logout_supported', undefined],
  ['session management', 'browsers block its cookies', 'check_session_iframe', undefined],
  ['implicit and hybrid', 'RFC 9700 2.1.2 forbids them', 'response_types_supported', ['code']],
];

describe.each([
  ['Basic OP', basicOp],
  ['Config OP', configOp],
  ['RP-initiated logout', logoutOp],
])('%s', (profile, modules) => {
  it.each(Object.entries(modules))('%s', async (name, run) => {
    let result = 'failed';
    try {
      await run();
      result = 'passed';
    } finally {
      results.push(`${profile}, ${name}: ${result}`);
    }
  });
});

it.each(notApplicable)('%s does not apply: %s', async (module, reason, member, value) => {
  results.push(`${module}: does not apply, ${reason}`);
  const { body } = await app.http.get('/oidc/.well-known/openid-configuration');
  expect(body[member]).toEqual(value);
});
