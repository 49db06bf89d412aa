import { createPrivateKey, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { userInfoSchema } from '@tessera/contracts';
import { accessLine } from '@tessera/testing/leaks';
import { expectOAuthProblem } from '@tessera/testing/problems';
import { decodeJwt, SignJWT } from 'jose';
import { signedIn, updateIdentity } from './support/identities.ts';
import { serviceToken, signingPem, startTestApp, type TestApp } from './support/test-app.ts';

describe('GET /userinfo', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const userInfo = (token: string) => app.http.get('/userinfo').set('Authorization', `Bearer ${token}`);

  async function expectInvalidToken(token: string) {
    const response = await userInfo(token);
    expectOAuthProblem(response, 401, 'invalid_token');
    expect(response.headers['www-authenticate']).toMatch(
      /^Bearer realm="identity", error="invalid_token", error_description="[^"]+"$/,
    );
  }

  it('returns exactly the members of docs/spec/identity-service.md 2.8, read from the database', async () => {
    const { tokens, identity } = await signedIn(app, { is_verified: true });
    await updateIdentity(app, identity.id, { username: 'renamed' });
    const response = await userInfo(tokens.access_token).expect(200);
    expect(userInfoSchema.strict().parse(response.body)).toEqual({
      sub: identity.id,
      email: identity.email,
      email_verified: true,
      preferred_username: 'renamed',
    });
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('returns the display name as `name`, and no `name` after its removal', async () => {
    const { tokens, identity } = await signedIn(app, { display_name: 'Ann Lee' });
    expect((await userInfo(tokens.access_token).expect(200)).body.name).toBe('Ann Lee');
    await updateIdentity(app, identity.id, { display_name: null });
    expect((await userInfo(tokens.access_token).expect(200)).body).not.toHaveProperty('name');
    expect(decodeJwt(tokens.access_token)).not.toHaveProperty('name');
  });

  it('returns the same to POST and for any case of the scheme', async () => {
    const { tokens } = await signedIn(app);
    const post = await app.http
      .post('/userinfo')
      .set('Authorization', `bearer ${tokens.access_token}`)
      .expect(200);
    expect(post.body).toEqual((await userInfo(tokens.access_token)).body);
  });

  it.each([
    ['no credentials', undefined],
    ['another scheme', 'Basic eDp5'],
  ])('returns a challenge without an error code for %s', async (_name, header) => {
    const request = app.http.get('/userinfo');
    const response = await (header === undefined ? request : request.set('Authorization', header));
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="identity"');
  });

  it('ignores a token in the query or the body', async () => {
    const { tokens } = await signedIn(app);
    await app.http.get('/userinfo').query({ access_token: tokens.access_token }).expect(401);
    await app.http.post('/userinfo').type('form').send({ access_token: tokens.access_token }).expect(401);
  });

  it('returns 400 for a malformed header and for two headers', async () => {
    const { tokens } = await signedIn(app);
    expectOAuthProblem(
      await app.http.get('/userinfo').set('Authorization', 'Bearer a b'),
      400,
      'invalid_request',
    );
    expectOAuthProblem(
      await app.http.get('/userinfo').set('Authorization', 'Bearer'),
      400,
      'invalid_request',
    );
    const value = `Bearer ${tokens.access_token}`;
    const twice = app.http.get('/userinfo');
    twice.set('Authorization', [value, value] as never);
    expectOAuthProblem(await twice, 400, 'invalid_request');
  });

  it('returns 401 for a refresh token', async () => {
    const { tokens } = await signedIn(app);
    await expectInvalidToken(tokens.refresh_token);
  });

  it('returns 401 as soon as the identity is deactivated, also for a cached signature', async () => {
    const { tokens, identity } = await signedIn(app);
    await userInfo(tokens.access_token).expect(200);
    await updateIdentity(app, identity.id, { is_active: false });
    await expectInvalidToken(tokens.access_token);
  });

  it('returns 401 as soon as the identity is deleted', async () => {
    const { tokens, identity } = await signedIn(app);
    await userInfo(tokens.access_token).expect(200);
    await app.http
      .delete(`/internal/identities/${identity.id}`)
      .set('X-Service-Token', serviceToken)
      .expect(204);
    await expectInvalidToken(tokens.access_token);
  });

  it('returns 401 for a token that is older than a password change', async () => {
    const { tokens, identity } = await signedIn(app);
    await updateIdentity(app, identity.id, { password: 'another password' });
    await expectInvalidToken(tokens.access_token);
  });

  it('logs the reason for a refused token with its kid, its jti and the route, and reveals only its expiry to the client', async () => {
    const { tokens } = await signedIn(app);
    const claims = decodeJwt(tokens.access_token);
    const line = (requestId: string) => accessLine(app.log.lines, requestId);
    const sign = (changes: object) =>
      new SignJWT({ ...claims, ...changes })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'identity-key-1' })
        .sign(createPrivateKey(signingPem()));
    const past = { iat: 1_700_000_000, exp: 1_700_000_900 };
    for (const [token, reason, detail] of [
      [await sign(past), 'expired', 'The token has expired.'],
      [await sign({ ...past, aud: 'other' }), /audience/, 'The token is not valid.'],
      [await sign({ sub: randomUUID() }), 'subject is not an active identity', 'The token is not valid.'],
      [await sign({ type: 'refresh' }), 'invalid claims: type', 'The token is not valid.'],
    ] as const) {
      const requestId = randomUUID();
      const response = await userInfo(token).set('X-Request-Id', requestId);
      expectOAuthProblem(response, 401, 'invalid_token');
      expect(response.body.detail).toBe(detail);
      expect(response.headers['www-authenticate']).toContain(`error_description="${detail}"`);
      expect(await line(requestId)).toMatchObject({
        level: 'info',
        route: '/userinfo',
        status: 401,
        reason: expect.stringMatching(reason),
        kid: 'identity-key-1',
        jti: claims.jti,
      });
    }
    const requestId = randomUUID();
    await userInfo(tokens.access_token).set('X-Request-Id', requestId).expect(200);
    expect(await line(requestId)).not.toHaveProperty('reason');
  });

  it('exposes the headers of refusals to browsers', async () => {
    const origin = 'https://app.test';
    const open = await startTestApp({ CORS_ORIGINS: origin }, app.databaseUrl);
    const exposed = 'Retry-After,X-Request-Id,RateLimit,RateLimit-Policy';
    for (const response of [
      await open.http.post('/token').set('Origin', origin).send({}).expect(422),
      await open.http.post('/token/refresh').set('Origin', origin).send({ refresh_token: 'x' }).expect(401),
      await open.http.get('/userinfo').set('Origin', origin).expect(401),
    ]) {
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': exposed,
      });
    }
    await open.close();
  });

  it('returns the right identity to each of many concurrent requests', async () => {
    const people = await Promise.all(Array.from({ length: 12 }, () => signedIn(app, { is_verified: true })));
    const gone = people.filter((_person, index) => index % 3 === 0);
    for (const { identity } of gone) await updateIdentity(app, identity.id, { is_active: false });
    const asked = [...people, ...people];
    const answers = await Promise.all(asked.map(({ tokens }) => userInfo(tokens.access_token)));
    for (const [index, { identity }] of asked.entries()) {
      const row = await app.dependencies.database.models.identity.findUniqueOrThrow({
        where: { id: identity.id },
      });
      const expected = {
        sub: row.id,
        email: row.email,
        email_verified: row.isVerified,
        preferred_username: row.username,
      };
      expect(answers[index]?.status).toBe(row.isActive ? 200 : 401);
      if (row.isActive) expect(answers[index]?.body).toEqual(expected);
    }
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(2 * gone.length);
  });
});
