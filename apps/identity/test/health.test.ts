import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServiceDatabase } from '@tessera/stack/postgres';
import { expectOAuthProblem, expectProblem } from '@tessera/testing/problems';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

describe('with a database', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('returns 200 to GET /healthz and /readyz without credentials', async () => {
    expect((await app.http.get('/healthz').expect(200)).body).toEqual({ status: 'ok' });
    expect((await app.http.get('/readyz').expect(200)).body).toEqual({
      status: 'ready',
      checks: { database: true, migrations: true, clock: true, not_draining: true },
    });
  });
});

describe('with a database without migrations', () => {
  it('returns 503 to GET /readyz and names the missing migrations', async () => {
    const url = await createServiceDatabase(process.env.TEST_ADMIN_URL ?? '', {
      database: `bare_${randomBytes(6).toString('hex')}`,
      role: 'identity',
      password: 'identity',
    });
    const app = await startTestApp({}, url);
    const response = await app.http.get('/readyz').expect(503);
    expect(response.body.checks).toMatchObject({ database: true, migrations: false });
    await app.close();
  });
});

describe('without a database', () => {
  let app: TestApp;
  beforeAll(async () => {
    // Nothing listens on port 1.
    app = await startTestApp({}, 'postgresql://identity:identity@127.0.0.1:1/identity');
  });
  afterAll(() => app.close());

  it('is alive but not ready, and serves discovery and JWKS', async () => {
    await app.http.get('/healthz').expect(200);
    const ready = await app.http.get('/readyz').expect(503);
    expect(ready.body).toMatchObject({ status: 'not_ready', checks: { database: false } });
    await app.http.get('/jwks').expect(200);
    await app.http.get('/.well-known/openid-configuration').expect(200);
  });

  it('returns 503 with Retry-After, not 401 or 500, for requests that need the database', async () => {
    const signIn = await app.http
      .post('/token')
      .send({ grant_type: 'password', email: 'a@example.com', password: 'some password' });
    expectOAuthProblem(signIn, 503, 'temporarily_unavailable');
    const subject = {
      id: '00000000-0000-4000-8000-000000000000',
      email: 'a@example.com',
      username: 'a',
      isVerified: false,
      isStaff: false,
      isSuperuser: false,
      sessionEpoch: 0,
    };
    const now = Math.floor(Date.now() / 1000);
    const access = await app.dependencies.issuer.signAccessToken(subject, now);
    const refresh = await app.dependencies.issuer.signRefreshToken({
      subjectId: subject.id,
      jti: subject.id,
      issuedAt: now,
      expiresAt: now + 60,
    });
    expectOAuthProblem(
      await app.http.get('/userinfo').set('Authorization', `Bearer ${access}`),
      503,
      'temporarily_unavailable',
    );
    expectOAuthProblem(
      await app.http.post('/token/refresh').send({ refresh_token: refresh }),
      503,
      'temporarily_unavailable',
    );
    const internal = [
      app.http.get(`/internal/identities/${subject.id}`),
      app.http.delete(`/internal/identities/${subject.id}`),
      app.http.post('/internal/identities').send({ email: 'a@example.com', password: 'some password' }),
    ];
    for (const request of internal) {
      const response = await request.set('X-Service-Token', serviceToken);
      expectProblem(response, 503, 'temporarily_unavailable');
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    }
    // Rejections that need no database are unchanged.
    await app.http.get('/userinfo').set('Authorization', 'Bearer nonsense').expect(401);
    await app.http.get(`/internal/identities/${subject.id}`).expect(403);
  });
});
