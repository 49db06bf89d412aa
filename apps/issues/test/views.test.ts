import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type View, viewSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIssue, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());

const viewsPath = '/api/v1/views/';
const viewPath = ({ id }: Pick<View, 'id'>) => `${viewsPath}${id}/`;

async function save(person: TestPerson, body: object = {}): Promise<View> {
  const response = await person.post(viewsPath, { name: 'Mine', query: 'status=OPEN', ...body }).expect(201);
  return viewSchema.parse(response.body);
}

const namesOf = async (person: TestPerson) =>
  (await person.get(viewsPath).expect(200)).body.map(({ name }: View) => name);

describe('/api/v1/views/', () => {
  it('saves, reads, lists, changes and deletes views', async () => {
    const query = '?label=a+b&label=%22c%22&-assignee=me&ordering=-priority';
    const created = await ann.post(viewsPath, { name: '  Nächste ', query }).expect(201);
    expect(created.body).toMatchObject({
      name: 'Nächste',
      query: 'label=a+b&label=%22c%22&-assignee=me&ordering=-priority',
      layout: 'list',
      is_shared: false,
      owner: { id: ann.id, username: ann.username },
    });
    const path = viewPath(created.body);
    expect(created.headers.location).toContain(path);
    const read = await ann.get(path).expect(200);
    expect([read.body, read.headers.etag]).toEqual([created.body, created.headers.etag]);
    await ann
      .get(path)
      .set('If-None-Match', read.headers.etag ?? '')
      .expect(304);
    const list = await ann.get(viewsPath).expect(200);
    expect(list.body).toEqual([created.body]);
    await ann
      .get(viewsPath)
      .set('If-None-Match', list.headers.etag ?? '')
      .expect(304);

    const changed = await ann.patch(path, { name: 'Later', layout: 'board' }).expect(200);
    expect(changed.body).toMatchObject({ name: 'Later', layout: 'board', query: created.body.query });
    const same = await ann.patch(path, { name: 'Later' }).expect(200);
    expect([same.body, same.headers.etag]).toEqual([changed.body, changed.headers.etag]);
    expectProblem(
      await ann.patch(path, { name: 'x' }).set('If-Match', read.headers.etag ?? ''),
      412,
      'precondition_failed',
    );
    expectProblem(
      await ann.delete(path).set('If-Match', read.headers.etag ?? ''),
      412,
      'precondition_failed',
    );
    await ann
      .delete(path)
      .set('If-Match', changed.headers.etag ?? '')
      .expect(204);
    for (const response of [
      await ann.get(path),
      await ann.patch(path, { name: 'x' }),
      await ann.delete(path),
    ])
      expectProblem(response, 404, 'view_not_found');
  });

  it('shows shared views to everyone; their owner and staff change them', async () => {
    const shared = await save(ann, { name: 'Shared', is_shared: true });
    const own = await save(ann, { name: 'Own' });
    await save(bob, { name: 'Of Bob' });
    expect(await namesOf(ann)).toEqual(['Shared', 'Own']);
    expect(await namesOf(bob)).toEqual(['Of Bob', 'Shared']);
    expect(await namesOf(staff)).toEqual(['Shared']);
    expect((await bob.get(viewPath(shared)).expect(200)).body).toEqual(shared);
    expectProblem(await bob.patch(viewPath(shared), { name: 'x' }), 403, 'forbidden');
    expectProblem(await bob.delete(viewPath(shared)), 403, 'forbidden');
    for (const person of [bob, staff]) {
      expectProblem(await person.get(viewPath(own)), 404, 'view_not_found');
      expectProblem(await person.patch(viewPath(own), { name: 'x' }), 404, 'view_not_found');
      expectProblem(await person.delete(viewPath(own)), 404, 'view_not_found');
    }
    await staff.patch(viewPath(shared), { name: 'By staff' }).expect(200);
    const hidden = await staff.patch(viewPath(shared), { is_shared: false }).expect(200);
    expect(hidden.body).toMatchObject({ name: 'By staff', is_shared: false, owner: { id: ann.id } });
    expect(await namesOf(bob)).toEqual(['Of Bob']);
    expectProblem(await staff.get(viewPath(shared)), 404, 'view_not_found');
    await ann.patch(viewPath(shared), { is_shared: true }).expect(200);
    await staff.delete(viewPath(shared)).expect(204);
  });

  it('saves a view once for an Idempotency-Key', async () => {
    const key = randomUUID();
    const send = () =>
      bob.post(viewsPath, { name: 'Once', query: '' }).set('Idempotency-Key', key).expect(201);
    const [first, second] = [await send(), await send()];
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
  });

  it('has queries that lists and counts accept', async () => {
    const { key } = await createIssue(ann, { title: 'ünïcode & more' });
    const { query } = await save(ann, { query: 'search=ünïcode %26 more&reporter=me&-status=CLOSED' });
    const list = await ann.get(`${issuesPath}?${query}&fields=key`).expect(200);
    expect(list.body).toEqual([{ key }]);
    const { body } = await ann.get(`${issuesPath}counts/?by=status&${query}`).expect(200);
    expect(body.counts[0]).toMatchObject({ value: 'OPEN', count: 1 });
  });

  it.each<[string, object]>([
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 'a\nb' }],
    ['query', { query: 'status=DONE' }],
    ['query', { query: 'status=OPEN&-status=OPEN' }],
    ['query', { query: 'cursor=x' }],
    ['query', { query: 'limit=5' }],
    ['query', { query: '__proto__=1' }],
    ['query', { query: 'search=%00' }],
    ['query', { query: 'search=a&search=b' }],
    ['query', { query: `search=${'x'.repeat(2_000)}` }],
    ['query', { query: `label=${'é'.repeat(50)}&`.repeat(20) }],
    ['query', { query: null }],
    ['query', { query: 'search=\ud800' }],
    ['layout', { layout: 'table' }],
    ['is_shared', { is_shared: 'yes' }],
  ])('return 422 for an invalid %s (%j)', async (field, body) => {
    expectInvalidFields(await ann.post(viewsPath, { name: 'x', query: '', ...body }), [field]);
  });

  it('follow a label to its new name', async () => {
    const label = (await staff.post('/api/v1/labels/', { name: 'É 1.5+ (*)' }).expect(201)).body;
    const named = (name: string) => new URLSearchParams([['label', name]]).toString();
    const other = `${named('É 1.5+ (*) more')}&search=${named('x').slice(0, 5)}`;
    const mine = await save(ann, {
      query: `status=OPEN&${named('é 1.5+ (*)')}&-${named('1.5+ (*)')}&${named('x')}`,
    });
    const excluding = await save(bob, { query: `${named('y')}&-${named('É 1.5+ (*)')}`, is_shared: true });
    const kept = await save(ann, { query: other });
    const rename = (name: string) => staff.patch(`/api/v1/labels/${label.id}/`, { name }).expect(200);
    const queryOf = async (view: View) => (await ann.get(viewPath(view)).expect(200)).body.query;
    await rename('A\\1 & b');
    expect(await queryOf(excluding)).toBe(`label=y&-${named('A\\1 & b')}`);
    expect(await queryOf(kept)).toBe(other);
    expect(await queryOf(mine)).toBe(`status=OPEN&${named('A\\1 & b')}&-${named('1.5+ (*)')}&${named('x')}`);
    await rename('c');
    expect(await queryOf(excluding)).toBe('label=y&-label=c');
  });

  it('say which parameter of a query is wrong', async () => {
    const messageOf = async (query: string) =>
      (await ann.post(viewsPath, { name: 'x', query }).expect(422)).body.errors[0].message;
    expect(await messageOf('page=2')).toBe('has an unknown parameter: page');
    expect(await messageOf('label=Bug&-label=bug')).toBe('-label must exclude no value of label');
  });

  it('limits the views of a person, and those that are shared, also when they come at once', async () => {
    const person = await aPerson(app);
    const mine = async () => (await person.get(viewsPath).expect(200)).body.filter(isOf(person));
    await app.sql(
      `INSERT INTO views (id, owner_id, name, query, is_shared)
       SELECT gen_random_uuid(), $1, n::text, '', n < 20 FROM generate_series(1, 98) n`,
      [person.id],
    );
    const shared = await Promise.all(
      Array.from({ length: 4 }, () => person.post(viewsPath, { name: 'x', query: '', is_shared: true })),
    );
    expect(shared.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const others = await Promise.all(
      Array.from({ length: 4 }, () => person.post(viewsPath, { name: 'y', query: '' })),
    );
    expect(others.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const views: View[] = await mine();
    expect(views).toHaveLength(100);
    const [hidden] = views.filter(({ is_shared }) => !is_shared);
    if (hidden === undefined) throw new Error('all views are shared');
    expectProblem(await person.patch(viewPath(hidden), { is_shared: true }), 409, 'too_many_views');
    await person.patch(viewPath(hidden), { name: 'z' }).expect(200);
  });
});

const isOf =
  ({ id }: TestPerson) =>
  ({ owner }: View) =>
    owner.id === id;
