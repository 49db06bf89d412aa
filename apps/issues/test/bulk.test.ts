import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BulkResult, Issue, Label } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import {
  createIssue,
  createIssueThatIs,
  getIssue,
  historyOf,
  issuePath,
  issuesPath,
} from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const bulkPath = `${issuesPath}bulk/`;
const unknown = '01980c5e-0000-7000-8000-000000000000';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let staff: TestPerson;
let red: Label;
let blue: Label;
beforeAll(async () => {
  app = await startTestApp();
  [ann, bob, staff] = [await aPerson(app), await aPerson(app), await aPerson(app, { is_staff: true })];
  for (const person of [ann, bob, staff]) await person.get('/api/v1/users/me/').expect(200);
  red = (await staff.post('/api/v1/labels/', { name: 'Red' }).expect(201)).body;
  blue = (await staff.post('/api/v1/labels/', { name: 'Blue' }).expect(201)).body;
});
afterAll(() => app.close());

async function bulk(person: TestPerson, ids: readonly string[], change: object): Promise<BulkResult[]> {
  const { body } = await person.post(bulkPath, { ids, ...change }).expect(200);
  expect(body.results.map(({ id }: BulkResult) => id)).toEqual(ids);
  return body.results;
}

/** Returns the results without ids: the outcome, or the code of a refusal. */
const outcomesOf = (results: readonly BulkResult[]) => results.map(({ outcome, code }) => code ?? outcome);

describe('POST /api/v1/issues/bulk/', () => {
  it('changes each issue with its own history and version, and leaves equal ones unchanged', async () => {
    const [one, two] = [await createIssue(ann), await createIssue(ann, { priority: 'URGENT' })];
    const ids = [two.key.toLowerCase(), one.id, String(one.number)];
    expect(outcomesOf(await bulk(ann, ids, { priority: 'urgent' }))).toEqual([
      'unchanged',
      'changed',
      'changed',
    ]);
    expect(await getIssue(ann, two)).toEqual(two);
    expect(await getIssue(ann, one)).toMatchObject({ priority: 'URGENT', version: 2 });
    expect((await historyOf(ann, one)).slice(1)).toEqual([
      {
        kind: 'updated',
        field: 'priority',
        old: 'MEDIUM',
        new: 'URGENT',
        actor: { id: ann.id, username: ann.username },
      },
    ]);
    expect(outcomesOf(await bulk(ann, [one.id], { due_on: '2026-12-31' }))).toEqual(['changed']);
    expect(outcomesOf(await bulk(ann, [one.id], { due_on: null }))).toEqual(['changed']);
    expect(outcomesOf(await bulk(ann, ids, { priority: 'URGENT' }))).toEqual(Array(3).fill('unchanged'));
    expect(await historyOf(ann, one)).toHaveLength(4);
  });

  it('changes the status within the workflow, as a single change does', async () => {
    const [open, closed] = [await createIssue(ann), await createIssueThatIs(ann, 'CLOSED')];
    const results = await bulk(ann, [open.id, closed.id, unknown, 'ISS-2147483647'], { status: 'RESOLVED' });
    expect(results).toEqual([
      { id: open.id, outcome: 'changed' },
      { id: closed.id, outcome: 'refused', code: 'illegal_transition' },
      { id: unknown, outcome: 'refused', code: 'issue_not_found' },
      { id: 'ISS-2147483647', outcome: 'refused', code: 'issue_not_found' },
    ]);
    const after = await getIssue(ann, open);
    expect(after).toMatchObject({ status: 'RESOLVED', version: 1 });
    expect(after.resolved_at).toBe(after.updated_at);
    expect((await historyOf(ann, open)).at(-1)).toMatchObject({ kind: 'status_changed', old: 'OPEN' });
    expect(await getIssue(ann, closed)).toEqual(closed);
  });

  it('assigns and unassigns; the assignee watches', async () => {
    const issues = [await createIssue(ann), await createIssue(ann)];
    const ids = issues.map(({ id }) => id);
    expect(outcomesOf(await bulk(ann, ids, { assignee_id: bob.id }))).toEqual(['changed', 'changed']);
    for (const issue of issues) {
      expect((await getIssue(ann, issue)).assignee?.id).toBe(bob.id);
      expect((await bob.get(issuePath(issue, 'watch/')).expect(200)).body.is_watching).toBe(true);
    }
    expect(outcomesOf(await bulk(bob, ids, { assignee_id: null }))).toEqual(['changed', 'changed']);
    expect(outcomesOf(await bulk(bob, ids, { assignee_id: bob.id }))).toEqual(['changed', 'changed']);
    expectProblem(await ann.post(bulkPath, { ids, assignee_id: unknown }), 422, 'unknown_identity');
  });

  it('adds and removes labels, and keeps the others', async () => {
    const issue = await createIssue(ann, { labels: ['red'] });
    const names = async () => (await getIssue(ann, issue)).labels.map(({ name }) => name);
    const change = (labels: object) => bulk(ann, [issue.id], { labels });
    expect(outcomesOf(await change({ add: ['blue', 'RED'] }))).toEqual(['changed']);
    expect(await names()).toEqual(['Blue', 'Red']);
    expect(outcomesOf(await change({ add: ['Blue'], remove: [{ id: red.id }] }))).toEqual(['changed']);
    expect(await names()).toEqual(['Blue']);
    expect(outcomesOf(await change({ remove: ['red'] }))).toEqual(['unchanged']);
    expect((await historyOf(ann, issue)).slice(1).map(({ kind }: { kind: string }) => kind)).toEqual([
      'label_added',
      'label_removed',
    ]);
    const many = Array.from({ length: 20 }, (_, index) => `l${index}`);
    for (const name of many) await staff.post('/api/v1/labels/', { name }).expect(201);
    expect(outcomesOf(await change({ add: many }))).toEqual(['too_many_labels']);
    expect(outcomesOf(await change({ add: many, remove: ['Blue'] }))).toEqual(['changed']);
    const refused = await ann.post(bulkPath, { ids: [issue.id], labels: { add: ['red'], remove: ['none'] } });
    expectInvalidFields(refused, ['labels.remove.0']);
    const both = { add: ['red'], remove: [{ id: red.id }] };
    expectInvalidFields(await ann.post(bulkPath, { ids: [issue.id], labels: both }), ['labels']);
    expect(await names()).toHaveLength(20);
    expect(blue.name).toBe('Blue');
  });

  it('checks the rights of each issue', async () => {
    const [mine, theirs, assigned] = [
      await createIssue(bob),
      await createIssue(ann),
      await createIssue(ann, { assignee_id: bob.id }),
    ];
    const ids = [mine.id, theirs.id, assigned.id];
    for (const change of [{ status: 'CLOSED' }, { priority: 'HIGH' }, { labels: { add: ['red'] } }])
      expect(outcomesOf(await bulk(bob, ids, change))).toEqual(['changed', 'forbidden', 'changed']);
    const eve = await aPerson(app);
    expect(outcomesOf(await bulk(eve, ids, { assignee_id: eve.id }))).toEqual([
      'changed',
      'changed',
      'forbidden',
    ]);
    expect(outcomesOf(await bulk(eve, ids, { assignee_id: ann.id }))).toEqual([
      'changed',
      'changed',
      'forbidden',
    ]);
    expect(outcomesOf(await bulk(staff, ids, { priority: 'CRITICAL' }))).toEqual(Array(3).fill('changed'));
  });

  it.each<[string, object]>([
    ['body', { ids: ['1'] }],
    ['body', { ids: ['1'], status: 'OPEN', priority: 'LOW' }],
    ['body', { ids: ['1'], title: 'x' }],
    ['ids', { priority: 'LOW' }],
    ['ids', { ids: [], priority: 'LOW' }],
    ['ids', { ids: Array(101).fill('1'), priority: 'LOW' }],
    ['ids.1', { ids: ['1', 'x'], priority: 'LOW' }],
    ['ids.0', { ids: [1], priority: 'LOW' }],
    ['status', { ids: ['1'], status: 'DONE' }],
    ['labels', { ids: ['1'], labels: {} }],
  ])('returns 422 for an invalid %s (%j)', async (field, body) => {
    expectInvalidFields(await ann.post(bulkPath, body), [field]);
  });

  it('takes effect once for an Idempotency-Key, and a replay has the results of the first request', async () => {
    const issues: Issue[] = [];
    for (let count = 0; count < 3; count += 1) issues.push(await createIssue(ann));
    const key = randomUUID();
    const ids = [...issues.map(({ id }) => id), unknown];
    const send = (priority: string) => ann.post(bulkPath, { ids, priority }).set('Idempotency-Key', key);
    const first = await send('HIGH').expect(200);
    const [one] = issues;
    if (one === undefined) throw new Error('issues were created');
    await ann.patch(issuePath(one), { priority: 'LOW' }).expect(200);
    const again = await Promise.all(Array.from({ length: 4 }, () => send('HIGH').expect(200)));
    for (const response of again) {
      expect([response.text, response.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
    }
    expect((await getIssue(ann, one)).priority).toBe('LOW');
    expectProblem(await send('URGENT'), 422, 'idempotency_key_reused');
  });

  it('counts each issue as a write', async () => {
    const limited = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '10' }, app);
    const issue = await createIssue(ann);
    const change = (count: number, priority: string) =>
      ann.on(limited).post(bulkPath, { ids: Array(count).fill(issue.id), priority });
    const { headers } = await change(4, 'HIGH').expect(200);
    expect(headers.ratelimit).toMatch(/;r=6;/);
    const refused = await change(7, 'LOW');
    expectProblem(refused, 429, 'too_many_requests');
    expect(refused.body.detail).toBe('At most 10 writes a minute. Each issue counts as one.');
    expect((await getIssue(ann, issue)).priority).toBe('HIGH');
    await limited.close();
  });
});

describe('two processes with overlapping bulk changes', () => {
  it('wait for each other without a deadlock, and write one history entry for each change', async () => {
    const services: [IssuesService, IssuesService] = await Promise.all([
      startIssuesService(app),
      startIssuesService(app),
    ]);
    const issues: Issue[] = [];
    for (let count = 0; count < 40; count += 1) issues.push(await createIssue(ann));
    const ids = issues.map(({ id }) => id);
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        ann.on(services[index % 2 === 0 ? 0 : 1]).post(bulkPath, {
          ids: index % 4 < 2 ? ids : ids.toReversed(),
          priority: index % 2 === 0 ? 'HIGH' : 'LOW',
        }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const changed = responses.flatMap(({ body }) =>
      body.results.filter(({ outcome }: BulkResult) => outcome === 'changed'),
    );
    const [{ count } = {}] = await app.sql(
      `SELECT count(*)::int FROM activity WHERE kind = 'updated' AND issue_id = ANY($1)`,
      [ids],
    );
    expect(count).toBe(changed.length);
    const key = randomUUID();
    const retried = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        ann
          .on(services[index % 2 === 0 ? 0 : 1])
          .post(bulkPath, { ids, priority: 'URGENT' })
          .set('Idempotency-Key', key),
      ),
    );
    expect(new Set(retried.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(retried.filter(({ headers }) => headers['idempotency-replayed'] === 'true')).toHaveLength(5);
    const versions = await app.sql('SELECT sum(version)::int AS sum FROM issues WHERE id = ANY($1)', [ids]);
    expect(versions).toEqual([{ sum: 2 * ids.length + changed.length }]);
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
  });
});
