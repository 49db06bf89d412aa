import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Identity } from '@tessera/contracts';
import axios from 'axios';
import type { Response } from 'supertest';
import { serviceToken } from './support/environment.ts';
import { FakeIdentity, json } from './support/fake-identity.ts';
import { IdentityService } from './support/identity-service.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';
import { rememberSecret } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import {
  anEmail,
  aPerson,
  mirrorRow,
  type NewIdentity,
  password,
  type TestPerson,
} from './support/people.ts';

const anotherPassword = rememberSecret('another password of the tests');

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

  it('sets temporary passwords: the first sign-in chooses another one', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const temporary = { password, password_is_temporary: true };
    const { body: user } = await staff.post('/api/v1/users/', { email: anEmail(), ...temporary }).expect(201);
    const signIn = (more: object) =>
      axios.post(
        `${identity.url}/token`,
        { grant_type: 'password', email: user.email, password, ...more },
        { proxy: false, validateStatus: () => true },
      );
    for (const next of ['a lighthouse made of salt', 'a harbour made of paper']) {
      expect((await signIn({})).data).toMatchObject({ status: 401, code: 'password_change_required' });
      expect((await signIn({ new_password: next })).status).toBe(200);
      await staff.put(`/api/v1/users/${user.id}/`, temporary).expect(200);
    }
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

  it('rejects other users before it validates their input', async () => {
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
    expect(seen.body).toHaveLength(2);
    expect(JSON.stringify(seen.body)).not.toContain(staff.email);
    const all = await staff.get(`/api/v1/users?search=${prefix.toUpperCase()}`).expect(200);
    expect(all.body).toHaveLength(2);
    expect(all.body[0]).toHaveProperty('email');
    // Punctuation separates words and is not a wildcard.
    expect((await ann.get(`/api/v1/users?search=${encodeURIComponent(`${prefix}%b`)}`)).body).toEqual([
      { id: staff.id, username: staff.username },
    ]);
    for (const search of ['%', "'", ':*', '&', '!', '\\', `${prefix}!`, `b%${prefix}`].map(
      encodeURIComponent,
    )) {
      const { body } = await ann.get(`/api/v1/users?search=${search}`).expect(200);
      expect(
        body.map(({ id }: { id: string }) => id).filter((id: string) => ![ann.id, staff.id].includes(id)),
      ).toEqual([]);
    }
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

  it('refreshes privileges older than a minute from identity with STRICT_PRIVILEGE_CHECK', async () => {
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

describe('finding people', () => {
  const found = async (person: TestPerson, query: string) => {
    const { body } = await person.get(`/api/v1/users/?${query}`).expect(200);
    return body.map(({ id }: { id: string }) => id);
  };
  /** Returns the people of all pages. */
  const walk = async (person: TestPerson, query: string) => {
    const people: { id: string; username: string; name?: string }[] = [];
    let path: string | undefined = `/api/v1/users/?${query}`;
    while (path !== undefined) {
      const response: Response = await person.get(path).expect(200);
      people.push(...response.body);
      path = /<[^>]*(\/api\/v1[^>]*)>; rel="next"/.exec(response.headers.link ?? '')?.[1];
    }
    return people;
  };
  const aName = () => `n${randomBytes(5).toString('hex')}`;

  it('finds people who never used issues, by the beginning of any word of their names', async () => {
    const [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true })];
    const [first, last] = [aName(), aName()];
    const email = anEmail();
    const person = await identity.create({
      ...{
        email,
        password,
        username: `${aName()}.${first}`,
        display_name: `Zoë ${last.toUpperCase()}-Ödegård`,
      },
    });
    await app.dependencies.backfill.run();
    for (const search of [
      first,
      first.slice(0, 6),
      last.slice(0, 8),
      `ode ${last}`,
      `${last}-ÖDE`,
      `zo ${first}`,
    ]) {
      expect(await found(ann, `search=${encodeURIComponent(search)}`)).toEqual([person.id]);
    }
    for (const search of [first.slice(1), `${first} ${aName()}`, email, email.split('@')[0] ?? '']) {
      expect(await found(ann, `search=${encodeURIComponent(search)}`)).toEqual([]);
    }
    for (const search of [email, email.split('@')[0] ?? '', `${last} ${email.slice(0, 9)}`]) {
      expect(await found(staff, `search=${encodeURIComponent(search)}`)).toEqual([person.id]);
    }
    expect((await ann.get(`/api/v1/users/?search=${first}`)).body).toEqual([
      { id: person.id, username: person.username, name: person.display_name },
    ]);
  });

  it('puts the people of the issue first, then those who were here last, then sorts by name, on every page', async () => {
    const word = aName();
    const add = async (name: string, overrides: Partial<NewIdentity> = {}) =>
      identity.create({ email: anEmail(), password, username: word, display_name: name, ...overrides });
    const [zoe, adam, cleo, dora] = [
      await add('Zoe'),
      await add('Adam'),
      await add('Cleo'),
      await add('Dora'),
    ];
    const [reporter, assignee] = [
      await aPerson(app, { username: `${word}-r` }),
      await aPerson(app, { username: `${word}-a` }),
    ];
    const issue = await reporter
      .post('/api/v1/issues', {
        title: 'x',
        assignee_id: assignee.id,
        links: [{ type: 'user', ref: dora.id }],
      })
      .expect(201);
    await app.dependencies.backfill.run();
    const now = Math.floor(Date.now() / 3_600_000);
    await app.sql('UPDATE identity_mirror SET seen_order = $2 WHERE id = $1', [zoe.id, -now + 5]);
    await app.sql('UPDATE identity_mirror SET seen_order = $2 WHERE id = $1', [reporter.id, -now + 9]);
    const others = [zoe.id, adam.id, cleo.id];
    const ranked = [dora.id, reporter.id, assignee.id];
    await app.sql('UPDATE identity_mirror SET seen_order = $2 WHERE id = $1', [dora.id, -now + 8]);
    const asker = await aPerson(app);
    expect(await found(asker, `search=${word}&issue=${issue.body.key}`)).toEqual([...ranked, ...others]);
    const walked: string[] = [];
    let path: string | undefined = `/api/v1/users/?search=${word}&issue=${issue.body.id}&limit=1`;
    while (path !== undefined) {
      const response: Response = await asker.get(path).expect(200);
      walked.push(...response.body.map(({ id }: { id: string }) => id));
      path = nextOf(response);
      if (path === undefined) break;
      // The order tells that a person was here earlier than another, but not when.
      const cursor = new URLSearchParams(path.split('?')[1]).get('cursor') ?? '';
      const place = JSON.parse(Buffer.from(cursor.slice(16), 'base64url').toString());
      const plain = Buffer.from(place, 'base64url').toString('latin1');
      expect(plain).not.toMatch(/seenOrder|sortName|-\d{6}/);
    }
    expect(walked).toEqual([...ranked, ...others]);
    const first = await asker.get(`/api/v1/users/?search=${word}&limit=1`).expect(200);
    const replica = await startTestApp({}, app);
    const [again, second] = await Promise.all([
      asker.on(replica).get(`/api/v1/users/?search=${word}&limit=1`).expect(200),
      asker
        .on(replica)
        .get(nextOf(first) ?? '')
        .expect(200),
    ]);
    expect(second.body).toEqual([
      expect.objectContaining({ id: expect.not.stringMatching(first.body[0].id) }),
    ]);
    // An equal one would tell that the person was not here meanwhile.
    expect(nextOf(again)).not.toBe(nextOf(first));
    await replica.close();
    expect((await found(asker, `issue=${issue.body.key}&limit=3`)).sort()).toEqual([...ranked].sort());
    expect(await found(asker, `search=${word}&issue=ISS-999999`)).toHaveLength(6);
    expectProblem(await asker.get('/api/v1/users/?issue=x'), 422, 'validation_failed');
  });

  it('answers up to 100 ids at once, active or not', async () => {
    const ann = await aPerson(app);
    await ann.get('/api/v1/users/me').expect(200);
    const gone = await identity.create({ email: anEmail(), password, is_active: false });
    await app.dependencies.backfill.run();
    const unknown = '00000000-0000-4000-8000-000000000000';
    const ids = [gone.id.toUpperCase(), ann.id, unknown].join();
    expect((await found(ann, `ids=${ids}`)).sort()).toEqual([ann.id, gone.id].sort());
    expect(await found(ann, `ids=${ids}&is_active=true`)).toEqual([ann.id]);
    expect(await found(ann, `ids=${Array<string>(100).fill(ann.id).join()}`)).toEqual([ann.id]);
    for (const refused of [Array<string>(101).fill(ann.id).join(), 'x', '']) {
      expectProblem(await ann.get(`/api/v1/users/?ids=${refused}`), 422, 'validation_failed');
    }
  });

  it('finds each of 500 people with ten names before their first request, by typing, and tells them apart', async () => {
    const last = aName();
    const firsts = ['Anna', 'Ben', 'Carla', 'Dan', 'Eva', 'Finn', 'Greta', 'Hugo', 'Ida', 'Jan'];
    const ann = await aPerson(app);
    const people: Identity[] = [];
    while (people.length < 500) {
      const first = firsts[Math.floor(people.length / 50)] ?? '';
      // identity refuses with 503 what waits too long for a hash, on a busy machine already 50 at once.
      const team = Array.from({ length: 5 }, (_, number) =>
        identity.create({
          ...{ email: `${first}.${last}@${people.length + number}.example`, password },
          display_name: `${first} ${last.toUpperCase()}`,
        }),
      );
      people.push(...(await Promise.all(team)));
    }
    await app.dependencies.backfill.run();
    const all = await walk(ann, `search=${last}`);
    expect(all.map(({ id }) => id).sort()).toEqual(people.map(({ id }) => id).sort());
    expect(new Set(all.map(({ username, name }) => `${name} (${username})`)).size).toBe(500);
    expect(JSON.stringify(all)).not.toContain('@');
    for (const [index, first] of firsts.entries()) {
      const namesakes = people.slice(50 * index, 50 * (index + 1)).map(({ id }) => id);
      const typed = `${first.slice(0, 2).toLowerCase()} ${last.slice(0, -1)}`;
      expect((await found(ann, `search=${encodeURIComponent(typed)}`)).sort()).toEqual(namesakes.sort());
    }
    // All people of one name, and every seventh of the others.
    for (const { id, username } of people.filter((_, index) => index < 50 || index % 7 === 0)) {
      const typed = await walk(ann, `search=${username}`);
      expect(typed.filter((one) => one.username === username)).toEqual([expect.objectContaining({ id })]);
    }
  });

  it('gives other users than staff the same answers for an e-mail with an account as without', async () => {
    const name = aName();
    const [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true })];
    const [known, unknown, inactive] = [`${name}@a.example`, `${name}@b.example`, `${name}@c.example`];
    await identity.create({ email: known, password });
    await identity.create({ email: inactive, password, is_active: false });
    await app.dependencies.backfill.run();
    const issue = (await ann.post('/api/v1/issues', { title: 'x' }).expect(201)).body;
    const path = `/api/v1/issues/${issue.id}`;
    const answersTo = async (email: string, person: TestPerson) => {
      const link = { type: 'user', ref: email };
      const account = { type: 'user', ref: { email } };
      const encoded = encodeURIComponent(email);
      const text = `@${email} <${email}> mailto:${email}`;
      const written = await person.post('/api/v1/issues', { title: 'x', description: text }).expect(201);
      const comment = await person.post(`${path}/comments/`, { body: text }).expect(201);
      const answers = [
        await person.get(`/api/v1/users/?search=${encoded}`),
        await person.get(`/api/v1/users/?ids=${encoded}`),
        await person.get(`/api/v1/users/${encoded}/`),
        await person.get(`/api/v1/issues/?assignee=${encoded}`),
        await person.get(`/api/v1/issues/?link=user:${encoded}`),
        await person.post('/api/v1/issues', { title: 'x', assignee_email: email }),
        await person.post('/api/v1/issues', { title: 'x', links: [link] }),
        await person.post('/api/v1/issues', { title: 'x', links: [account] }),
        await person.put(path, { title: 'x', assignee_email: email }),
        await person.patch(path, { assignee_email: email }),
        await person.patch(path, { links: [link] }),
        await person.post(`${path}/links/`, link),
        await person.post('/api/v1/issues/bulk/', { ids: [issue.id], assignee_email: email }),
        await person.post('/api/v1/users/', { email, password }),
        await person.patch(`/api/v1/users/${person.id}/`, { email }),
        await person.patch('/api/v1/users/me/', { email }),
      ];
      return [
        { status: 201, body: [written.body.mentions, comment.body.mentions] },
        ...answers.map(({ status, body: { request_id: _, ...body } }) => ({ status, body })),
      ];
    };
    const answers = await answersTo(unknown, ann);
    expect(answers.map(({ status }) => status)).toEqual([
      ...[201, 200, 422, 422, 422, 200],
      ...[422, 422, 422, 422, 422, 422, 422, 422, 403, 403, 422],
    ]);
    expect(answers[0]?.body).toEqual([[], []]);
    expect(await answersTo(known, ann)).toEqual(answers);
    expect(await answersTo(inactive, ann)).toEqual(answers);
    // Staff administer the people, and see their e-mails.
    const ofStaff = (await answersTo(known, staff)).map(({ status }) => status);
    expect(ofStaff.slice(6, 12)).toEqual([201, 201, 201, 200, 200, 200]);
    expect(ofStaff[14]).toBe(409);
  });
});

describe('/api/v1/users/me', () => {
  it('changes the own display name, which is shown beside the username wherever the person is', async () => {
    const ann = await aPerson(app);
    const issue = (await ann.post('/api/v1/issues', { title: 'x', assignee_id: ann.id }).expect(201)).body;
    expect(issue.reporter).toEqual({ id: ann.id, username: ann.username });
    await ann.post(`/api/v1/issues/${issue.id}/comments/`, { body: 'x' }).expect(201);
    const before = await ann.get(`/api/v1/issues/${issue.id}`).expect(200);
    const renamed = await ann.patch('/api/v1/users/me/', { name: ' Ann Lee ' }).expect(200);
    expect(renamed.body).toMatchObject({ id: ann.id, username: ann.username, name: 'Ann Lee' });
    expect((await ann.get('/api/v1/users/me/')).body).toEqual(renamed.body);
    const shown = { id: ann.id, username: ann.username, name: 'Ann Lee' };
    const after = await ann.get(`/api/v1/issues/${issue.id}`).expect(200);
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect(after.body).toMatchObject({ reporter: shown, assignee: shown, comments: [{ author: shown }] });
    const list = await ann.get('/api/v1/issues?reporter=me').expect(200);
    expect(list.body).toMatchObject([{ reporter: shown, assignee: shown }]);
    const history = await ann.get(`/api/v1/issues/${issue.id}/activity/`).expect(200);
    expect(history.body[0].actor).toEqual(shown);
    await ann.patch('/api/v1/users/me/', { name: null }).expect(200);
    expect((await ann.get(`/api/v1/issues/${issue.id}`)).body.reporter).toEqual({
      id: ann.id,
      username: ann.username,
    });
    for (const body of [
      {},
      { name: '' },
      { name: 'a\nb' },
      { name: '\u202eabc' },
      { name: '\u2800' },
      { name: 'a\uffff' },
      { name: 'x', is_staff: true },
      { username: 'x' },
    ]) {
      expectProblem(await ann.patch('/api/v1/users/me/', body), 422, 'validation_failed');
    }
  });

  it.each([{ is_active: false }, undefined])(
    'learns that another backend has ended the account: %j',
    async (state) => {
      const ann = await aPerson(app);
      await axios.request({
        method: state === undefined ? 'DELETE' : 'PUT',
        url: `${identity.url}/internal/identities/${ann.id}`,
        headers: { 'X-Service-Token': serviceToken },
        data: state,
      });
      expectProblem(await ann.patch('/api/v1/users/me/', { name: 'Ann' }), 404, 'user_not_found');
      expectProblem(await ann.post('/api/v1/issues/', { title: 'x' }), 401, 'identity_inactive');
    },
  );

  it('changes the own password by the old one and ends all sessions; guesses are limited and delay no other user', async () => {
    const [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true })];
    const session = await identity.signIn(ann.email, password);
    const change = (current_password: string, new_password: string) =>
      ann.post('/api/v1/users/me/password/', { current_password, new_password });
    const wrong = await change('not the password', anotherPassword);
    expectProblem(wrong, 422, 'validation_failed');
    expect(wrong.body.errors).toEqual([
      { field: 'current_password', message: 'is not the current password' },
    ]);
    const weak = await change(password, 'short');
    expect(weak.body.errors).toMatchObject([{ field: 'new_password' }]);
    expectProblem(await change(password, 'x'.repeat(60_000)), 422, 'validation_failed');
    await change(password, anotherPassword).expect(204);
    await identity.signIn(ann.email, anotherPassword);
    const refreshed = axios.post(`${identity.url}/token/refresh`, { refresh_token: session.refresh_token });
    await expect(refreshed).rejects.toMatchObject({ response: { status: 401 } });
    const guesses: Response[] = [];
    while (guesses.length < 20) guesses.push(await change(password, anotherPassword));
    expect(guesses.map(({ status }) => status)).toEqual([
      ...Array<number>(10).fill(422),
      ...Array<number>(10).fill(429),
    ]);
    expect(Number(guesses.at(-1)?.headers['retry-after'])).toBeGreaterThan(60);
    await staff
      .get(`/api/v1/users/${(await identity.create({ email: anEmail(), password })).id}/`)
      .expect(200);
    expectProblem(await app.http.post('/api/v1/users/me/password/').send({}), 401, 'unauthorized');
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

const nextOf = ({ headers }: Pick<Response, 'headers'>): string | undefined =>
  /<[^>]*(\/api\/v1[^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1];
