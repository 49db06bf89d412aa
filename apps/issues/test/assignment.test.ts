import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { IdentityService } from './support/identity-service.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';
import { rememberSecret } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import { anEmail, aPerson, mirrorRow, password } from './support/people.ts';

let identity: IdentityService;
let app: TestApp;
beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startTestApp({}, { identity });
});
afterAll(async () => {
  await identity.stop();
  await app.close();
});

describe('assigning a person', () => {
  const assign = async (person: object) => {
    const reporter = await aPerson(app, { is_staff: true });
    return reporter.post('/api/v1/issues', { title: 'x', ...person });
  };

  it('resolves an assignee by id and by e-mail through identity and stores the result in the mirror', async () => {
    const [ann, bob] = [
      await identity.create({ email: anEmail(), password }),
      await identity.create({ email: anEmail(), password }),
    ];
    const byId = await assign({ assignee_id: ann.id });
    expect(byId.status).toBe(201);
    expect(byId.body.assignee).toEqual({ id: ann.id, username: ann.username });
    expect((await assign({ assignee_email: bob.email.toUpperCase() })).body.assignee).toEqual({
      id: bob.id,
      username: bob.username,
    });
    expect(await mirrorRow(app, bob.id)).toMatchObject({ email: bob.email, is_active: true });
  });

  it('finds an assignee by each spelling of the address, in the mirror and at identity', async () => {
    const name = anEmail().slice(4, 16);
    const bob = await identity.create({ email: `Bob.${name}@bücher.example`, password });
    for (const domain of ['bücher.example.', 'XN--bcher-kva.example', 'BÜCHER.example']) {
      const { body } = await assign({ assignee_email: `bob.${name}@${domain}` });
      expect(body.assignee).toEqual({ id: bob.id, username: bob.username });
    }
  });

  it('returns 422 with the field name if the person is unknown or inactive', async () => {
    const gone = await identity.create({ email: anEmail(), password, is_active: false });
    const unknown = await assign({ assignee_id: '00000000-0000-4000-8000-000000000000' });
    expectProblem(unknown, 422, 'unknown_identity');
    expect(unknown.body.errors[0].field).toBe('assignee_id');
    expect((await assign({ assignee_email: anEmail() })).status).toBe(422);
    expectProblem(await assign({ assignee_id: gone.id }), 422, 'validation_failed');
  });

  it('marks a deleted identity inactive and lets another identity take over its e-mail', async () => {
    const email = anEmail();
    const first = await identity.create({ email, password });
    expect((await assign({ assignee_id: first.id })).status).toBe(201);
    await identity.delete(first.id);
    const second = await identity.create({ email, password });
    await app.sql(`UPDATE identity_mirror SET checked_at = now() - interval '1 hour' WHERE id = $1`, [
      first.id,
    ]);
    expect((await assign({ assignee_email: email })).body.assignee).toMatchObject({ id: second.id });
    expectProblem(await assign({ assignee_id: first.id }), 422, 'unknown_identity');
    expect(await mirrorRow(app, first.id)).toMatchObject({ is_active: false, email });
    expect(await mirrorRow(app, second.id)).toMatchObject({ is_active: true, email });
  });

  it('returns 502 when identity rejects the service token and logs the cause without the token', async () => {
    const wrongToken = rememberSecret('another-service-token-0123456789abcdef');
    const misconfigured = await startTestApp({ SERVICE_TOKEN: wrongToken }, app);
    const [staff, ann] = [
      await aPerson(app, { is_staff: true }),
      await identity.create({ email: anEmail(), password }),
    ];
    for (const refused of [
      await staff.on(misconfigured).post('/api/v1/issues', { title: 'x', assignee_id: ann.id }),
      await staff.on(misconfigured).post('/api/v1/users', { email: anEmail(), password }),
      await staff.on(misconfigured).put(`/api/v1/users/${ann.id}`, { password }),
      await staff.on(misconfigured).delete(`/api/v1/users/${ann.id}`),
    ]) {
      expectProblem(refused, 502, 'identity_credentials_rejected');
    }
    expect(misconfigured.log.filter((line) => line.includes('check SERVICE_TOKEN'))).toHaveLength(1);
    await misconfigured.close();
  });
});

describe('while identity is down', () => {
  it('serves every request that does not need identity and recovers without a restart', async () => {
    const [ann, known, staff] = [
      await aPerson(app),
      await aPerson(app),
      await aPerson(app, { is_staff: true }),
    ];
    const { body: issue } = await ann
      .post('/api/v1/issues', { title: 'x', assignee_id: known.id })
      .expect(201);
    await staff.get('/api/v1/users/me').expect(200);
    const unseen = await identity.create({ email: anEmail(), password });
    await identity.down();

    await ann.get('/api/v1/issues').expect(200);
    await ann.get(`/api/v1/issues/${issue.key}`).expect(200);
    await ann.post('/api/v1/issues', { title: 'y' }).expect(201);
    await ann.put(`/api/v1/issues/${issue.id}`, { title: 'z' }).expect(200);
    await ann.post(`/api/v1/issues/${issue.id}/comments`, { body: 'still here' }).expect(201);
    await ann.post(`/api/v1/issues/${issue.id}/status`, { status: 'IN_PROGRESS' }).expect(200);
    await ann.get('/api/v1/users').expect(200);
    await app.http.get('/readyz').expect(200);
    // The row is stale but less than a day old, so it is used while identity is down.
    await app.sql(`UPDATE identity_mirror SET checked_at = now() - interval '1 hour' WHERE id = $1`, [
      known.id,
    ]);
    await ann.post('/api/v1/issues', { title: 'w', assignee_id: known.id }).expect(201);

    const refused = await ann.post('/api/v1/issues', { title: 'v', assignee_id: unseen.id });
    expectProblem(refused, 503, 'identity_unavailable');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expectProblem(
      await staff.post('/api/v1/users', { email: anEmail(), password }),
      503,
      'identity_unavailable',
    );

    await identity.up();
    await eventually(
      () => ann.post('/api/v1/issues', { title: 'v', assignee_id: unseen.id }),
      ({ status }) => status === 201,
    );
  });
});
