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

  it('ends the family of the token, once and quietly (RFC 7009)', async () => {
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

  it('answers 200 to a token that is not valid, and 422 to none', async () => {
    await app.http.post('/token/revoke').send({ token: 'nonsense' }).expect(200);
    expectInvalidFields(await app.http.post('/token/revoke').send({}), ['token']);
  });

  it('says that an access token cannot be revoked', async () => {
    const { tokens } = await signedIn(app);
    const response = await app.http.post('/token/revoke').send({ token: tokens.access_token });
    expectOAuthProblem(response, 400, 'unsupported_token_type');
  });
});
