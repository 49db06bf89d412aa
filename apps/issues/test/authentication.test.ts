import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { IdentityService } from './support/identity-service.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';
import { accessLine } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import { anEmail, aPerson, mirrorRow, password } from './support/people.ts';

let identity: IdentityService;
let app: TestApp;
beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startTestApp({}, { identity });
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await identity.stop();
  await app.close();
});

describe('authentication', () => {
  it('returns 401 without a valid access token on every path below /api/v1', async () => {
    const ann = await aPerson(app);
    const { refresh_token } = await identity.signIn(ann.email, password);
    for (const path of ['/issues', '/issues/1', '/users/me', '/nothing']) {
      expect((await app.http.get(`/api/v1${path}`)).status).toBe(401);
      const refused = await app.http.get(`/api/v1${path}`).auth(refresh_token, { type: 'bearer' });
      expectProblem(refused, 401, 'invalid_token');
      expect(refused.headers['www-authenticate']).toContain('realm="issues", error="invalid_token"');
    }
    await ann.get('/api/v1/issues').expect(200);
  });

  it('adds a new person to the mirror from the claims without a request to identity', async () => {
    const ann = await aPerson(app, { username: 'ann', is_verified: true });
    const { body } = await ann.get('/api/v1/users/me/').expect(200);
    expect(body).toEqual(await mirrorRow(app, ann.id));
    expect(body).toMatchObject({
      id: ann.id,
      username: 'ann',
      email: ann.email,
      is_verified: true,
      is_active: true,
    });
  });

  it('ignores older claims and grants no right that the mirror has withdrawn', async () => {
    const ann = await aPerson(app, { is_staff: true });
    await ann.get('/api/v1/users/me').expect(200);
    const root = await aPerson(app, { is_superuser: true, is_staff: true });
    await root.put(`/api/v1/users/${ann.id}`, { is_staff: false, username: 'demoted' }).expect(200);
    expectProblem(await ann.post('/api/v1/users', { email: anEmail(), password }), 403, 'forbidden');
    expect(await mirrorRow(app, ann.id)).toMatchObject({ username: 'demoted', is_staff: false });
    const { body } = await ann.get('/api/v1/users/me').expect(200);
    expect(body.username).toBe('demoted');
  });

  it('returns 401 immediately after this service deactivated the person and keeps the mirror row', async () => {
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await ann.get('/api/v1/issues').expect(200);
    await staff.delete(`/api/v1/users/${ann.id}`).expect(204);
    const refused = await ann.get('/api/v1/issues');
    expectProblem(refused, 401, 'identity_inactive');
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(await mirrorRow(app, ann.id)).toMatchObject({ is_active: false, username: ann.username });
  });

  it('returns 401 for a cached token that has expired, with the expiry as the only reason', async () => {
    const { now } = Date;
    let aheadMs = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const replica = await startTestApp({}, app);
    const ann = await aPerson(app);
    const { expires_in } = await identity.signIn(ann.email, password);
    await ann.on(replica).get('/api/v1/issues').expect(200);
    // The lifetime plus the clock tolerance.
    aheadMs = (expires_in + 6) * 1000;
    const refused = await ann.on(replica).get('/api/v1/issues');
    expectProblem(refused, 401, 'invalid_token');
    expect(refused.body.detail).toBe('The token has expired.');
    aheadMs = 0;
    await ann.on(replica).get('/api/v1/issues').expect(200);
    await replica.close();
  });

  it('logs the reason for a refused token with its kid, its jti and the route', async () => {
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await staff.delete(`/api/v1/users/${ann.id}`).expect(204);
    const [header = '', payload = ''] = ann.token.split('.');
    for (const [token, reason] of [
      [`${header}.${payload}.AAAA`, 'invalid signature'],
      [ann.token, 'inactive identity'],
    ] as const) {
      const requestId = randomUUID();
      await app.http
        .get('/api/v1/issues/ISS-1/')
        .auth(token, { type: 'bearer' })
        .set('X-Request-Id', requestId)
        .expect(401);
      expect(await accessLine(app.log, requestId)).toMatchObject({
        level: 'info',
        route: '/api/v1/issues/:id/',
        status: 401,
        reason,
        kid: decodeProtectedHeader(ann.token).kid,
        jti: decodeJwt(ann.token).jti,
      });
    }
  });

  it('returns 401 to a person deleted by another backend as soon as a look-up reports it', async () => {
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await ann.get('/api/v1/issues').expect(200);
    await identity.delete(ann.id);
    await ann.get('/api/v1/issues').expect(200);
    expectProblem(
      await staff.post('/api/v1/issues', { title: 'x', assignee_id: ann.id }),
      422,
      'unknown_identity',
    );
    expectProblem(await ann.get('/api/v1/issues'), 401, 'identity_inactive');
  });

  it('accepts a new token after another backend reactivated the person', async () => {
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await staff.put(`/api/v1/users/${ann.id}`, { is_active: false }).expect(200);
    expectProblem(await ann.get('/api/v1/issues'), 401, 'identity_inactive');
    await identity.update(ann.id, { is_active: true });
    expectProblem(await ann.get('/api/v1/issues'), 401, 'identity_inactive');
    // `iat` has a resolution of one second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { access_token: token } = await identity.signIn(ann.email, password);
    const again = await app.http.get('/api/v1/issues').auth(token, { type: 'bearer' });
    expect(again.status).toBe(200);
    expect(await mirrorRow(app, ann.id)).toMatchObject({ is_active: true });
  });

  it.each([
    ['off', 200, 201],
    ['write', 200, 403],
    ['all', 403, 403],
  ])(
    'with REQUIRE_VERIFIED=%s returns %d to reads and %d to writes of an unverified identity',
    async (required, read, write) => {
      const strict = await startTestApp({ REQUIRE_VERIFIED: required }, app);
      const [ann, bob] = [await aPerson(app), await aPerson(app, { is_verified: true })];
      const answers = [
        await ann.on(strict).get('/api/v1/issues'),
        await ann.on(strict).post('/api/v1/issues', { title: 'x' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([read, write]);
      for (const answer of answers) if (answer.status === 403) expectProblem(answer, 403, 'unverified');
      await bob.on(strict).post('/api/v1/issues', { title: 'x' }).expect(201);
      await strict.close();
    },
  );

  it('returns 503, not 401, while no key set has been fetched', async () => {
    const ann = await aPerson(app);
    const keyless = await startTestApp({ IDENTITY_URL: 'http://127.0.0.1:1' }, app);
    const response = await ann.on(keyless).get('/api/v1/issues');
    expectProblem(response, 503, 'temporarily_unavailable');
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    const ready = await keyless.http.get('/readyz').expect(503);
    expect(ready.body.checks).toMatchObject({ keys: false, database: true });
    await keyless.close();
  });
});
