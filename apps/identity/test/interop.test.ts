import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { createClient, createMachine, redirectUri } from './support/clients.ts';
import { createIdentity, signIn } from './support/identities.ts';
import { nextOf, TestBrowser } from './support/oidc.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// Widely used client libraries, over HTTP.
describe('client libraries', () => {
  let app: TestApp;
  let server: Server;
  let base: string;
  beforeAll(async () => {
    // The issuer contains the port, which must be known before the app starts.
    let listener: TestApp['listener'] | undefined;
    server = createServer((request, response) => listener?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    app = await startTestApp({ JWT_ISSUER: base, HOSTED_SIGN_IN: 'on' });
    listener = app.listener;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await app.close();
  });

  it('jose verifies an access token against /jwks', async () => {
    const { identity, password } = await createIdentity(app);
    const { access_token: token } = await signIn(app, identity.email, password);
    const keys = createRemoteJWKSet(new URL(`${base}/jwks`));
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer: base,
      audience: 'tessera',
      algorithms: ['RS256'],
      typ: 'at+jwt',
      requiredClaims: ['sub', 'jti'],
    });
    expect(payload.sub).toBe(identity.id);
    expect(protectedHeader.kid).toBe('identity-key-1');
    await expect(jwtVerify(token, keys, { issuer: base, audience: 'another' })).rejects.toThrow('aud');
  });

  it('openid-client discovers, signs in with the password grant as a form, and reads userinfo', async () => {
    const { identity, password } = await createIdentity(app, { username: 'ann', is_verified: true });
    const config = await client.discovery(new URL(base), 'any-client', undefined, client.None(), {
      execute: [client.allowInsecureRequests],
    });
    expect(config.serverMetadata().jwks_uri).toBe(`${base}/jwks`);
    const tokens = await client.genericGrantRequest(config, 'password', {
      username: identity.email,
      password,
    });
    expect(tokens.token_type).toBe('bearer');
    expect(tokens.expires_in).toBe(900);
    const userInfo = await client.fetchUserInfo(config, tokens.access_token, identity.id);
    expect(userInfo).toEqual({
      sub: identity.id,
      email: identity.email,
      email_verified: true,
      preferred_username: 'ann',
    });
    await expect(
      client.genericGrantRequest(config, 'password', { username: identity.email, password: 'wrong one' }),
    ).rejects.toMatchObject({
      name: 'ResponseBodyError',
      status: 401,
      error: 'invalid_grant',
      error_description: 'Invalid email or password.',
    });
  });

  it('openid-client revokes a refresh token', async () => {
    const { identity, password } = await createIdentity(app);
    const { refresh_token: token } = await signIn(app, identity.email, password);
    const config = await client.discovery(new URL(base), 'any-client', undefined, client.None(), {
      execute: [client.allowInsecureRequests],
    });
    await client.tokenRevocation(config, token);
    await app.http.post('/token/refresh').send({ refresh_token: token }).expect(401);
  });

  it('openid-client signs a person in with a code, refreshes, and signs out', async () => {
    const { identity, password } = await createIdentity(app);
    const goodbye = 'https://app.example/goodbye';
    const registered = await createClient(app, { post_logout_redirect_uris: [goodbye] });
    const config = await client.discovery(
      new URL(`${base}/oidc`),
      registered.client_id,
      registered.client_secret,
      client.ClientSecretBasic(registered.client_secret),
      { execute: [client.allowInsecureRequests] },
    );
    const verifier = client.randomPKCECodeVerifier();
    const [state, nonce] = [client.randomState(), client.randomNonce()];
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid email',
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const browser = new TestBrowser(app);
    const page = await browser.get(url.pathname, Object.fromEntries(url.searchParams));
    const back = nextOf(await browser.submit(page, { email: identity.email, password }));
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    const tokens = await client.authorizationCodeGrant(config, back, checks);
    expect(tokens.claims()?.sub).toBe(identity.id);
    const userInfo = await client.fetchUserInfo(config, tokens.access_token, identity.id);
    expect(userInfo.email).toBe(identity.email);
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.claims()?.sub).toBe(identity.id);
    const out = client.buildEndSessionUrl(config, {
      id_token_hint: refreshed.id_token ?? '',
      post_logout_redirect_uri: goodbye,
    });
    const ended = await browser.get(out.pathname, Object.fromEntries(out.searchParams));
    expect(nextOf(ended).href).toBe(goodbye);
    await expect(client.refreshTokenGrant(config, refreshed.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('openid-client signs a machine in with private_key_jwt', async () => {
    const { publicKey, privateKey } = await crypto.subtle.generateKey(
      { name: 'ECDSA', namedCurve: 'P-256' },
      true,
      ['sign', 'verify'],
    );
    const jwk = { ...(await crypto.subtle.exportKey('jwk', publicKey)) };
    const { client: machine, identity } = await createMachine(app, {
      audiences: ['tessera'],
      jwks: { keys: [jwk] },
    });
    const config = await client.discovery(
      new URL(`${base}/oidc`),
      machine.client_id,
      undefined,
      client.PrivateKeyJwt(privateKey),
      { execute: [client.allowInsecureRequests] },
    );
    const tokens = await client.clientCredentialsGrant(config);
    const userInfo = await app.http
      .get('/userinfo')
      .set('Authorization', `Bearer ${tokens.access_token}`)
      .expect(200);
    expect(userInfo.body.sub).toBe(identity.id);
  });
});
