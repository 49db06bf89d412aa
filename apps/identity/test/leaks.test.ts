import { afterEach, describe, expect, it } from '@jest/globals';
import { findLeaks, forgetEmissions, recordEmission, rememberSecret } from '@tessera/testing/leaks';
import { anEmail, signedIn } from './support/identities.ts';
import { serviceToken, startTestApp } from './support/test-app.ts';

const hash = `$2b$10$${'a'.repeat(53)}`;
const jwt = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0xxx.${'s'.repeat(40)}`;

describe('the leak scan that guards every test file', () => {
  afterEach(forgetEmissions);

  it.each([
    ['a password hash', hash],
    ['a token', jwt],
    ['a remembered password', rememberSecret('correct horse battery')],
    ['the service token', serviceToken],
    ['a private key', '-----BEGIN PRIVATE KEY-----'],
    ['a private JWK', '{"kty":"RSA","d":"x"}'],
  ])('finds %s', (_name, planted) => {
    recordEmission('log', `{"msg":"${planted}"}`);
    expect(findLeaks()).toHaveLength(1);
  });

  it('allows tokens in responses of the token endpoints only', () => {
    recordEmission('POST /token 200', jwt, true);
    expect(findLeaks()).toEqual([]);
    recordEmission('POST /token 200', hash, true);
    expect(findLeaks()).toHaveLength(1);
  });

  it('scans the log and the responses of the service', async () => {
    const app = await startTestApp();
    const { tokens } = await signedIn(app, { email: anEmail() });
    await app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(200);
    expect(findLeaks()).toEqual([]);
    app.dependencies.logger.info(`careless: ${tokens.access_token}`);
    expect(findLeaks()).toEqual(['log: a token']);
    await app.close();
  });
});
