import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import axios from 'axios';
import type { Response } from 'supertest';
import { serviceToken } from './support/environment.ts';
import { FakeIdentity, json } from './support/fake-identity.ts';
import { IdentityService } from './support/identity-service.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/leak-guard.ts';
import { rememberSecret } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import { anEmail, aPerson, mirrorRow, type NewIdentity, password } from './support/people.ts';

const anotherPassword = rememberSecret('another password of the tests');

let identity: IdentityService;
let app: TestApp;
beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startTestApp({}, { identity });
}, 60_000);
afterAll(async () => {
  await identity.stop();
  await app.close();
});

describe('/api/v1/users', () => {
  it('creates a user through identity and stores the response in the mirror', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const email = anEmail();
    const response = await staff.post('/api/v1/users/', { email, password, is_verified: true }).expect(201);
    expect(response.headers.location).toMatch(new RegExp(`/api/v1/users/${response.body.id}/$`));
    expect(response.body).toEqual(await mirrorRow(app, response.body.id));
    expect(JSON.stringify(response.body)).not.toContain(password);
    expect((await identity.signIn(email, password)).token_type).toBe('Bearer');
  });

  it('accepts and ignores read-only members of any type', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const depth = 20_000;
    const body = `{"email":"${anEmail()}","password":"${password}","id":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const response = await staff.post('/api/v1/users/').type('json').send(body).expect(201);
    expect(response.body).toEqual(await mirrorRow(app, response.body.id));
  });

  it('returns the rejections of identity with their fields', async () => {
    const staff = await aPerson(app, { is_staff: true });
    expectProblem(await staff.post('/api/v1/users', { email: staff.email, password }), 409, 'email_conflict');
    const weak = await staff.post('/api/v1/users', { email: anEmail(), password: 'short' });
    expectProblem(weak, 422, 'validation_failed');
    expect(weak.body.errors[0].field).toBe('password');
    expectProblem(await staff.put('/api/v1/users/not-a-uuid', {}), 422, 'validation_failed');
    expectProblem(
      await staff.put('/api/v1/users/00000000-0000-4000-8000-000000000000', {}),
      404,
      'user_not_found',
    );
  });

  it('refuses other users before it reads their input', async () => {
    const ann = await aPerson(app);
    for (const response of [
      await ann.post('/api/v1/users/', { email: 'x', password: 'short' }),
      await ann.post('/api/v1/users/').type('json').send('{'),
      await ann.put('/api/v1/users/not-a-uuid/', { email: 7 }),
      await ann.patch('/api/v1/users/not-a-uuid/').send({ email: 7 }),
      await ann.delete('/api/v1/users/not-a-uuid/'),
    ]) {
      expectProblem(response, 403, 'forbidden');
    }
  });

  it.each<[actor: Partial<NewIdentity>, person: Partial<NewIdentity>, change: object, status: number]>([
    [{}, {}, { username: 'x' }, 403],
    [{ is_staff: true }, {}, { username: 'x' }, 200],
    [{ is_staff: true }, {}, { password: anotherPassword }, 200],
    [{ is_staff: true }, {}, { is_staff: true }, 403],
    [{ is_staff: true }, {}, { is_superuser: false }, 403],
    [{ is_staff: true }, { is_staff: true }, { password: anotherPassword }, 403],
    [{ is_staff: true }, { is_superuser: true }, { is_active: false }, 403],
    [{ is_superuser: true }, { is_staff: true }, { is_staff: false }, 200],
    [{ is_superuser: true }, { is_superuser: true }, { password: anotherPassword }, 200],
  ])('lets %j change %j by %j: %d', async (actor, person, change, status) => {
    const [changer, changed] = [
      await aPerson(app, actor),
      await identity.create({ email: anEmail(), password, ...person }),
    ];
    const response = await changer.patch(`/api/v1/users/${changed.id}`).send(change);
    expect(response.status).toBe(status);
    if (status === 403) {
      expectProblem(response, 403, 'forbidden');
      expect(
        (await app.sql('SELECT 1 FROM identity_mirror WHERE id = $1 AND NOT is_active', [changed.id])).length,
      ).toBe(0);
    }
  });

  it('shows id and username to all users and every field to staff', async () => {
    const prefix = `p${randomBytes(4).toString('hex')}`;
    const [ann, staff] = [
      await aPerson(app, { username: `${prefix}_ann` }),
      await aPerson(app, { username: `${prefix}%bob`, is_staff: true }),
    ];
    await ann.get('/api/v1/users/me').expect(200);
    await staff.get('/api/v1/users/me').expect(200);
    const seen = await ann.get(`/api/v1/users?search=${prefix}`).expect(200);
    expect(seen.body).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: ann.id }),
        { id: staff.id, username: staff.username },
      ]),
    );
    expect(JSON.stringify(seen.body)).not.toContain(staff.email);
    const all = await staff.get(`/api/v1/users?search=${prefix.toUpperCase()}`).expect(200);
    expect(all.body).toHaveLength(2);
    expect(all.body[0]).toHaveProperty('email');
    // The wildcards of LIKE are escaped.
    expect((await ann.get(`/api/v1/users?search=${encodeURIComponent(`${prefix}%`)}`)).body).toEqual([
      { id: staff.id, username: staff.username },
    ]);
    expect((await ann.get(`/api/v1/users?search=${encodeURIComponent(staff.email)}`)).body).toEqual([]);
    expect((await staff.get(`/api/v1/users?search=${encodeURIComponent(ann.email)}`)).body).toMatchObject([
      { id: ann.id },
    ]);
  });

  it('pages by keyset, keeps the filters in the link, and returns 422 for unknown parameters', async () => {
    const prefix = `q${randomBytes(4).toString('hex')}`;
    const staff = await aPerson(app, { is_staff: true });
    for (const number of [1, 2, 3])
      await staff
        .post('/api/v1/users', { email: anEmail(), username: `${prefix}-${number}`, password })
        .expect(201);
    const names: string[] = [];
    let path: string | undefined = `/users/?search=${prefix}&limit=2`;
    while (path !== undefined) {
      const response: Response = await staff.get(`/api/v1${path}`).expect(200);
      names.push(...response.body.map((user: { username: string }) => user.username));
      path = /<[^>]*\/api\/v1([^>]*)>; rel="next"/.exec(response.headers.link ?? '')?.[1];
      if (path !== undefined) expect(path).toContain(`search=${prefix}`);
    }
    expect(names.sort()).toEqual([1, 2, 3].map((number) => `${prefix}-${number}`));
    for (const query of ['offset=3', 'limit=0', 'is_active=maybe', 'cursor=x']) {
      expect((await staff.get(`/api/v1/users?${query}`)).status).toBe(422);
    }
  });

  it('looks up an unmirrored user in identity for staff only', async () => {
    const [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true })];
    const unseen = await identity.create({ email: anEmail(), password });
    expectProblem(await ann.get(`/api/v1/users/${unseen.id}`), 404, 'user_not_found');
    const { body } = await staff.get(`/api/v1/users/${unseen.id}/`).expect(200);
    expect(body).toMatchObject({ id: unseen.id, email: unseen.email });
    expect((await ann.get(`/api/v1/users/${unseen.id}`).expect(200)).body).toEqual({
      id: unseen.id,
      username: unseen.username,
    });
  });

  it('accepts its own response, edited, as the body', async () => {
    const root = await aPerson(app, { is_superuser: true });
    const { body: user } = await root.post('/api/v1/users', { email: anEmail(), password }).expect(201);
    const edited = { ...user, username: 'edited', sso_provider: 'google', sso_id: user.id };
    expect((await root.put(`/api/v1/users/${user.id}/`).send(edited).expect(200)).body).toEqual(edited);
    const { body } = await root.put(`/api/v1/users/${user.id}`, { is_actve: false });
    expect(body.errors).toEqual([{ field: 'is_actve', message: 'is not a known field' }]);
  });

  it('stores no password in any table', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const { body } = await staff.post('/api/v1/users', { email: anEmail(), password }).expect(201);
    await staff.put(`/api/v1/users/${body.id}`, { password: anotherPassword }).expect(200);
    await identity.signIn(body.email, anotherPassword);
    const tables = await app.sql(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toContain('identity_mirror');
    for (const { name } of tables) {
      const rows = await app.sql(`SELECT t::text AS text FROM "${name}" t`);
      const text = rows.map((row) => row.text).join('\n');
      for (const secret of [password, anotherPassword, '$2b$']) expect(text).not.toContain(secret);
    }
  });

  it('asks identity about rights older than a minute with STRICT_PRIVILEGE_CHECK', async () => {
    const strict = await startTestApp({ STRICT_PRIVILEGE_CHECK: 'on' }, app);
    const [lax, demoted] = [await aPerson(app, { is_staff: true }), await aPerson(app, { is_staff: true })];
    for (const person of [lax, demoted]) await identity.update(person.id, { is_staff: false });
    const create = (person: typeof lax, instance = strict) =>
      person.on(instance).post('/api/v1/users', { email: anEmail(), password });
    expect((await create(lax, app)).status).toBe(201);
    expectProblem(await create(demoted), 403, 'forbidden');
    // The look-up updated the mirror that all instances share.
    expectProblem(await create(demoted, app), 403, 'forbidden');
    const staff = await aPerson(app, { is_staff: true });
    expect((await create(staff)).status).toBe(201);
    await strict.close();
  });
});

// Identity executes the change, but its response never arrives.
describe('a change whose response is lost', () => {
  let lossy: TestApp;
  let stub: FakeIdentity;
  let lost: (request: IncomingMessage) => boolean;
  beforeAll(async () => {
    stub = await FakeIdentity.start();
    stub.answer = async (request, response) => {
      const { status, data } = await axios.request({
        baseURL: identity.url,
        url: request.url ?? '',
        method: request.method ?? '',
        headers: { 'X-Service-Token': serviceToken },
        data: stub.seen.at(-1)?.body,
        proxy: false,
        validateStatus: () => true,
      });
      if (lost(request)) request.socket.resetAndDestroy();
      else json(status, data)(request, response);
    };
    lossy = await startTestApp({ IDENTITY_URL: stub.url, JWKS_URI: `${identity.url}/jwks` }, app);
  });
  afterAll(async () => {
    await lossy.close();
    await stub.stop();
  });

  it('finds the created user and stores it in the mirror', async () => {
    lost = (request) => request.method === 'POST';
    const staff = await aPerson(app, { is_staff: true });
    const email = anEmail();
    const { body } = await staff.on(lossy).post('/api/v1/users', { email, password }).expect(201);
    expect(body).toEqual(await mirrorRow(app, body.id));
    expect((await identity.signIn(email, password)).token_type).toBe('Bearer');
    expect(stub.seen.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('detects a deletion and rejects the person immediately', async () => {
    lost = (request) => request.method === 'DELETE';
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await ann.on(lossy).get('/api/v1/issues').expect(200);
    await staff.on(lossy).delete(`/api/v1/users/${ann.id}`).expect(204);
    expectProblem(await ann.on(lossy).get('/api/v1/issues'), 401, 'identity_inactive');
  });

  it('returns 503 for an update and stores the result in the mirror', async () => {
    lost = (request) => request.method === 'PUT';
    const [staff, ann] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
    await ann.on(lossy).get('/api/v1/issues').expect(200);
    const update = await staff.on(lossy).put(`/api/v1/users/${ann.id}`, { is_active: false });
    expectProblem(update, 503, 'identity_unavailable');
    expectProblem(await ann.on(lossy).get('/api/v1/issues'), 401, 'identity_inactive');
  });
});
