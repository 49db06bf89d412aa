import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { createIdentity, signIn } from './support/identities.ts';
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
    app = await startTestApp({ JWT_ISSUER: base });
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
});
