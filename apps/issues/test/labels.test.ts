import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, type Label, labelSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import {
  createIssue,
  etagOf,
  getIssue,
  historyOf,
  issueIn,
  issuePath,
  issuesPath,
} from './support/issues.ts';
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

const labelsPath = '/api/v1/labels/';
const labelPath = ({ id }: { id: string }) => `${labelsPath}${id}/`;
const unknown = '01980c5e-0000-7000-8000-000000000000';

async function createLabel(body: object = {}): Promise<Label> {
  const response = await staff.post(labelsPath, { name: `label ${randomUUID()}`, ...body }).expect(201);
  return labelSchema.parse(response.body);
}

/** Returns the representation of a label in an issue. */
const onIssue = ({ id, name, color }: Label) => ({ id, name, color });

describe('/api/v1/labels/', () => {
  it('creates, reads, lists, changes and deletes labels', async () => {
    const created = await staff.post(labelsPath, { name: '  Łabel, ünï  ', color: '#D73A4A' }).expect(201);
    expect(created.body).toMatchObject({ name: 'Łabel, ünï', color: '#d73a4a' });
    const path = labelPath(created.body);
    expect(created.headers.location).toContain(path);
    const read = await ann.get(path).expect(200);
    expect([read.body, read.headers.etag]).toEqual([created.body, created.headers.etag]);
    expect((await ann.get(labelsPath).expect(200)).body).toContainEqual(created.body);

    const renamed = await staff.patch(path, { name: 'ŁABEL, ünï' }).expect(200);
    expect(renamed.body).toMatchObject({ id: created.body.id, name: 'ŁABEL, ünï', color: '#d73a4a' });
    expect(renamed.headers.etag).not.toBe(read.headers.etag);
    const same = await staff.patch(path, { name: 'ŁABEL, ünï', color: '#D73A4A' }).expect(200);
    expect([same.body, same.headers.etag]).toEqual([renamed.body, renamed.headers.etag]);

    await staff.delete(path).expect(204);
    for (const response of [
      await ann.get(path),
      await staff.patch(path, { name: 'x' }),
      await staff.delete(path),
    ])
      expectProblem(response, 404, 'label_not_found');
    expect((await ann.get(labelsPath).expect(200)).body).not.toContainEqual(renamed.body);
  });

  it('names unknown parameters of the list', async () => {
    expectInvalidFields(await ann.get(`${labelsPath}?search=a`), ['search']);
  });

  it('lists labels by name, with a default colour', async () => {
    const prefix = randomUUID();
    for (const name of ['b', 'C', 'a']) await createLabel({ name: `${prefix} ${name}` });
    const { body } = await ann.get(labelsPath).expect(200);
    const found = body.filter(({ name }: Label) => name.startsWith(prefix));
    expect(found.map(({ name }: Label) => name.slice(-1))).toEqual(['a', 'b', 'C']);
    expect(new Set(found.map(({ color }: Label) => color))).toEqual(new Set(['#cccccc']));
  });

  it('returns 304 for the current ETag, until a label changes', async () => {
    const label = await createLabel();
    for (const path of [labelsPath, labelPath(label)]) {
      const { headers } = await ann.get(path).expect(200);
      await ann
        .get(path)
        .set('If-None-Match', headers.etag ?? '')
        .expect(304);
      await staff.patch(labelPath(label), { name: `label ${randomUUID()}` }).expect(200);
      await ann
        .get(path)
        .set('If-None-Match', headers.etag ?? '')
        .expect(200);
    }
  });

  it('allows only staff to write labels', async () => {
    const label = await createLabel();
    for (const response of [
      await ann.post(labelsPath, { name: 'mine' }),
      await ann.patch(labelPath(label), { color: '#000000' }),
      await ann.delete(labelPath(label)),
      await ann.patch(labelPath({ id: unknown }), { color: 'red' }),
    ])
      expectProblem(response, 403, 'forbidden');
    const superuser = await aPerson(app, { is_superuser: true });
    await superuser.patch(labelPath(label), { color: '#000000' }).expect(200);
  });

  it('has unique names, ignoring case and Unicode composition', async () => {
    const label = await createLabel({ name: 'Été 1' });
    const other = await createLabel();
    for (const name of ['ÉTÉ 1', ' été 1 ', 'e\u0301te\u0301 1']) {
      const refusals = [
        await staff.post(labelsPath, { name }),
        await staff.patch(labelPath(other), { name }),
      ];
      for (const response of refusals) {
        expectProblem(response, 409, 'label_exists');
        expect(response.body.label).toEqual(label);
      }
    }
  });

  it.each<[string, object]>([
    ['name', {}],
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(51) }],
    ['name', { name: 'a\nb' }],
    ['name', { name: 'a\u2028b' }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: 'a\u200bb' }],
    ['name', { name: '\u202eabc' }],
    ['name', { name: '\u3164' }],
    ['name', { name: 'a\ufdd0' }],
    ['name', { name: ' \ufe0f' }],
    ['name', { name: '\u200d' }],
    ['color', { name: 'x', color: 'red' }],
    ['color', { name: 'x', color: '#fff' }],
    ['color', { name: 'x', color: null }],
  ])('returns 422 for an invalid %s (%j)', async (field, body) => {
    expectInvalidFields(await staff.post(labelsPath, body), [field]);
  });

  it('drops directional marks at the ends of a name, also of a name in a request', async () => {
    const { name } = await createLabel({ name: '\u200f באג 2\u200e ' });
    expect(name).toBe('באג 2');
    const response = await ann.post(issuesPath, { title: 'x', labels: ['\u061cבאג 2\u200f'] }).expect(201);
    expect(response.body.labels).toMatchObject([{ name }]);
  });

  it('accepts a name of 50 characters of four bytes', async () => {
    expect((await createLabel({ name: '🏷'.repeat(50) })).name).toBe('🏷'.repeat(50));
  });

  it('creates a label once for an Idempotency-Key, and a replay returns the current label', async () => {
    const send = () => staff.post(labelsPath, { name: 'once' }).set('Idempotency-Key', 'labels-once');
    const first = await send().expect(201);
    const renamed = await staff.patch(labelPath(first.body), { color: '#123456' }).expect(200);
    const again = await send().expect(201);
    expect([again.body, again.headers.etag]).toEqual([renamed.body, renamed.headers.etag]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const refused = () => staff.post(labelsPath, { name: 'ONCE' }).set('Idempotency-Key', 'labels-twice');
    expectProblem(await refused(), 409, 'label_exists');
    await staff.delete(labelPath(first.body)).expect(204);
    expect((await refused()).body.code).toBe('label_exists');
    expectProblem(await send(), 404, 'label_not_found');
  });

  it('changes a label only if If-Match contains its current ETag', async () => {
    const label = await createLabel();
    const path = labelPath(label);
    const seen = (await ann.get(path)).headers.etag ?? '';
    await staff.patch(path, { color: '#000001' }).set('If-Match', seen).expect(200);
    expectProblem(
      await staff.patch(path, { color: '#000002' }).set('If-Match', seen),
      412,
      'precondition_failed',
    );
    expectProblem(await staff.delete(path).set('If-Match', `W/${seen}`), 412, 'precondition_failed');
    expectProblem(await staff.delete(path).set('If-Match', 'x'), 400, 'malformed_if_match');
    await staff.delete(path).set('If-Match', '*').expect(204);
  });
});

describe('the labels of an issue', () => {
  let red: Label;
  let blue: Label;
  beforeAll(async () => {
    [red, blue] = [await createLabel({ name: 'Red' }), await createLabel({ name: 'blue', color: '#0000ff' })];
  });

  const put = async (issue: Issue, body: object) =>
    issueIn(await ann.put(issuePath(issue), body).expect(200));

  it('are set by name at creation and by an update, and each change is in the history', async () => {
    const issue = await createIssue(ann, { labels: ['RED', 'Blue', 'red'] });
    expect(issue.labels).toEqual([onIssue(blue), onIssue(red)]);
    expect(issue.version).toBe(1);
    expect((await put(issue, { labels: ['blue'] })).labels).toEqual([onIssue(blue)]);
    expect((await put(issue, { labels: [{ name: 'red' }] })).labels).toEqual([onIssue(red)]);
    const changed = await put(issue, { title: 'other', labels: ['red'] });
    expect(await put(changed, changed)).toEqual(changed);
    expect((await put(issue, { labels: [] })).labels).toEqual([]);
    const line = { actor: { id: ann.id, username: ann.username }, field: null };
    expect((await historyOf(ann, issue)).slice(1)).toEqual([
      { ...line, kind: 'label_removed', old: onIssue(red), new: null },
      { ...line, kind: 'label_added', old: null, new: onIssue(red) },
      { ...line, kind: 'label_removed', old: onIssue(blue), new: null },
      expect.objectContaining({ kind: 'updated', field: 'title' }),
      { ...line, kind: 'label_removed', old: onIssue(red), new: null },
    ]);
  });

  it('are the labels of a response after their names were exchanged', async () => {
    const [one, two] = [await createLabel(), await createLabel()];
    const issue = await createIssue(ann, { labels: [one.name] });
    await staff.patch(labelPath(one), { name: `free ${randomUUID()}` }).expect(200);
    await staff.patch(labelPath(two), { name: one.name }).expect(200);
    expect((await put(issue, { title: 'other', labels: issue.labels })).labels).toMatchObject([
      { id: one.id },
    ]);
    expectInvalidFields(await ann.put(issuePath(issue), { labels: [{ id: issue.id }] }), ['labels.0']);
  });

  it('are rejected if a label does not exist or there are too many, and nothing changes', async () => {
    const issue = await createIssue(ann, { labels: ['red'] });
    const labels = ['blue', 'none', 'red', 'neither'];
    for (const response of [
      await ann.post(issuesPath, { title: 'x', labels }),
      await ann.put(issuePath(issue), { labels }),
    ])
      expectInvalidFields(response, ['labels.1', 'labels.3']);
    const many = Array.from({ length: 21 }, (_, index) => `l${index}`);
    expectInvalidFields(await ann.patch(issuePath(issue), { labels: many }), ['labels']);
    expectInvalidFields(await ann.patch(issuePath(issue), { labels: null }), ['labels']);
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('are set by the reporter, the assignee and staff', async () => {
    const issue = await createIssue(ann);
    expectProblem(await bob.patch(issuePath(issue), { labels: ['red'] }), 403, 'forbidden');
    await staff.patch(issuePath(issue), { labels: ['red'], assignee_id: bob.id }).expect(200);
    await bob.patch(issuePath(issue), { labels: [] }).expect(200);
  });

  it('are covered by If-Match; their names and colours are not', async () => {
    const own = await createLabel();
    const issue = await createIssue(ann, { labels: [own.name] });
    const seen = await etagOf(ann, issue);
    await staff.patch(labelPath(own), { name: `renamed ${randomUUID()}` }).expect(200);
    expect(await etagOf(ann, issue)).not.toBe(seen);
    await ann
      .patch(issuePath(issue), { labels: ['red'] })
      .set('If-Match', seen)
      .expect(200);
    expectProblem(
      await ann.patch(issuePath(issue), { title: 'x' }).set('If-Match', seen),
      412,
      'precondition_failed',
    );
  });

  it('change on all issues with a label, also in lists, without a write to these issues', async () => {
    const own = await createLabel();
    const issues: Issue[] = [];
    for (let count = 0; count < 3; count += 1)
      issues.push(await createIssue(ann, { labels: [own.name, 'red'] }));
    const versions = () => app.sql('SELECT xmin, ctid, rev FROM issues ORDER BY id');
    const before = await versions();
    const shown = async (): Promise<Issue['labels'][]> => {
      const { body } = await ann.get(`${issuesPath}?label=red`).expect(200);
      const rows = issues.map(({ id }) => body.find((row: Issue) => row.id === id)?.labels);
      const single = await Promise.all(issues.map(async (issue) => (await getIssue(ann, issue)).labels));
      expect(rows).toEqual(single);
      return rows;
    };
    await shown();
    const renamed = await staff.patch(labelPath(own), { name: 'AAA first', color: '#abcdef' }).expect(200);
    expect(await shown()).toEqual(issues.map(() => [onIssue(renamed.body), onIssue(red)]));
    await staff.delete(labelPath(own)).expect(204);
    expect(await shown()).toEqual(issues.map(() => [onIssue(red)]));
    expect(await versions()).toEqual(before);
    // The id of a deleted label does not count towards the limit.
    const names = await Promise.all(Array.from({ length: 19 }, async () => (await createLabel()).name));
    const [first] = issues;
    if (first === undefined) throw new Error('an issue was created');
    expect((await put(first, { labels: ['red', ...names] })).labels).toHaveLength(20);
  });

  it('filter a list by all given names, ignoring case; an unknown name matches no issue', async () => {
    const comma = await createLabel({ name: 'a, b' });
    const both = await createIssue(ann, { labels: ['red', comma.name] });
    const one = await createIssue(ann, { labels: [comma.name] });
    const found = async (query: string) => {
      const { body, headers } = await ann.get(`${issuesPath}?${query}`).expect(200);
      return { ids: body.map(({ id }: Issue) => id), total: headers['x-total-count'] };
    };
    expect(await found('label=A,%20B')).toEqual({ ids: [one.id, both.id], total: '2' });
    expect(await found('label=a,%20b&label=RED')).toEqual({ ids: [both.id], total: '1' });
    expect(await found('label=red&label=nothing')).toEqual({ ids: [], total: '0' });
    const { body, headers } = await ann.get(`${issuesPath}?label=a,%20b&limit=1`).expect(200);
    expect(body.map(({ id }: Issue) => id)).toEqual([one.id]);
    const [, next = ''] = /<[^>]*(\/api[^>]+)>/.exec(headers.link ?? '') ?? [];
    expect((await ann.get(next).expect(200)).body.map(({ id }: Issue) => id)).toEqual([both.id]);
    expect((await ann.get(`/api/v1/issue-pages/?label=a,%20b&page=1`).expect(200)).body.count).toBe(2);
    for (const [query, field] of [
      ['label=', 'label.0'],
      [`label=${'x'.repeat(51)}`, 'label.0'],
      ['label=x&'.repeat(21), 'label'],
    ] as const)
      expectInvalidFields(await ann.get(`${issuesPath}?${query}`), [field]);
  });
});
