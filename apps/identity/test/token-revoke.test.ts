import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectOAuthProblem } from '@tessera/testing/problems';
import { signedIn } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('POST /token/revoke', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('revokes the family of the token and returns 200 the second time too (RFC 7009)', async () => {
    const { tokens, identity } = await signedIn(app);
    const { body: next } = await app.http
      .post('/token/refresh')
      .send({ refresh_token: tokens.refresh_token })
      .expect(200);
    const response = await app.http.post('/token/revoke').send({ token: next.refresh_token }).expect(200);
    expect(response.body).toEqual({});
    expect(response.headers['cache-control']).toBe('no-store');
    await app.http.post('/token/refresh').send({ refresh_token: next.refresh_token }).expect(401);
    await app.http.post('/token/revoke').type('form').send({ token: next.refresh_token }).expect(200);
    const events = await app.sql(
      `SELECT 1 FROM audit_events WHERE identity_id = $1 AND type = 'family.revoked'`,
      [identity.id],
    );
    expect(events).toHaveLength(1);
  });

  it('returns 200 for an invalid token and 422 without a token', async () => {
    await app.http.post('/token/revoke').send({ token: 'nonsense' }).expect(200);
    expectInvalidFields(await app.http.post('/token/revoke').send({}), ['token']);
  });

  it('returns unsupported_token_type for an access token', async () => {
    const { tokens } = await signedIn(app);
    const response = await app.http.post('/token/revoke').send({ token: tokens.access_token });
    expectOAuthProblem(response, 400, 'unsupported_token_type');
  });
});
