import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatchedIssue, watchedIssueSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import type { Response, Test } from 'supertest';
import { watchersByOthersMax } from '../src/issue-store/watching.sql.ts';
import { createIssue, etagOf, historyOf, issuePath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const listPath = '/api/v1/users/me/watching/';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
  await bob.get('/api/v1/users/me/').expect(200);
});
afterAll(() => app.close());

const watchPath = (issue: { id: string }) => issuePath(issue, 'watch/');

async function isWatching(person: TestPerson, issue: { id: string }): Promise<boolean> {
  const { body } = await person.get(watchPath(issue)).expect(200);
  expect(body).toEqual({ issue_id: issue.id, is_watching: expect.any(Boolean) });
  return body.is_watching;
}

type Action = (issue: { id: string }) => PromiseLike<unknown>;

/** The ways in which bob takes part in an issue of ann. */
const participations: [string, Action][] = [
  ['is assigned', (issue) => ann.patch(issuePath(issue), { assignee_id: bob.id }).expect(200)],
  ['assigns himself', (issue) => bob.patch(issuePath(issue), { assignee_id: bob.id }).expect(200)],
  ['comments', (issue) => bob.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201)],
];

describe('watching an issue', () => {
  it('begins for the reporter and the assignee of a new issue', async () => {
    const issue = await createIssue(ann, { assignee_id: bob.id });
    expect([await isWatching(ann, issue), await isWatching(bob, issue)]).toEqual([true, true]);
    expect(await isWatching(await aPerson(app), issue)).toBe(false);
  });

  it.each(participations)('begins when a person %s, unless the person has stopped', async (_, takePart) => {
    const issue = await createIssue(ann);
    expect(await isWatching(bob, issue)).toBe(false);
    await takePart(issue);
    expect(await isWatching(bob, issue)).toBe(true);
    const other = await createIssue(ann);
    await bob.delete(watchPath(other)).expect(204);
    await takePart(other);
    expect(await isWatching(bob, other)).toBe(false);
    await bob.put(watchPath(other)).expect(200);
    expect(await isWatching(bob, other)).toBe(true);
  });

  it('begins with the comment of a change of status, and does not end with the assignment', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const issue = await createIssue(ann, { assignee_id: bob.id });
    await staff.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
    expect(await isWatching(staff, issue)).toBe(false);
    await staff.post(issuePath(issue, 'status/'), { status: 'CLOSED', comment: 'Done' }).expect(200);
    expect(await isWatching(staff, issue)).toBe(true);
    await ann.patch(issuePath(issue), { assignee_id: null }).expect(200);
    expect(await isWatching(bob, issue)).toBe(true);
  });

  it('begins only by the person itself for an issue that a thousand people watch', async () => {
    const issue = await createIssue(ann);
    const watch = (count: number) =>
      app.sql(
        'INSERT INTO issue_watchers (issue_id, user_id) SELECT $1, gen_random_uuid() FROM generate_series(1, $2::int)',
        [issue.id, count],
      );
    await watch(watchersByOthersMax - 1);
    const [cid, dan, eve] = [await aPerson(app), await aPerson(app), await aPerson(app)];
    for (const person of [cid, dan, eve]) await person.get('/api/v1/users/me/').expect(200);
    const mention = (person: TestPerson) =>
      ann.post(issuePath(issue, 'comments/'), { body: `@${person.username}` }).expect(201);
    await ann.put(watchPath(issue)).expect(200);
    await mention(cid);
    await mention(dan);
    await ann.patch(issuePath(issue), { assignee_id: eve.id }).expect(200);
    expect([
      await isWatching(cid, issue),
      await isWatching(dan, issue),
      await isWatching(eve, issue),
    ]).toEqual([true, false, false]);
    await dan.post(issuePath(issue, 'comments/'), { body: 'Here' }).expect(201);
    await eve.put(watchPath(issue)).expect(200);
    expect([await isWatching(dan, issue), await isWatching(eve, issue)]).toEqual([true, true]);
  });

  it('writes nothing when the reporter, who watches already, takes part or watches', async () => {
    const issue = await createIssue(ann, { assignee_id: ann.id, description: `@${ann.username}` });
    await ann.post(issuePath(issue, 'comments/'), { body: `@${ann.username}` }).expect(201);
    await ann.put(watchPath(issue)).expect(200);
    const rows = () => app.sql('SELECT 1 FROM issue_watchers WHERE issue_id = $1', [issue.id]);
    expect(await rows()).toEqual([]);
    const [watched] = (await ann.get(`${listPath}?limit=1`).expect(200)).body;
    expect(watched).toMatchObject({ id: issue.id, watching_since: issue.created_at });
    await ann.delete(watchPath(issue)).expect(204);
    await ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    expect(await isWatching(ann, issue)).toBe(false);
  });

  it('is open to everyone, has no effect when repeated, and changes neither issue nor history', async () => {
    const issue = await createIssue(ann);
    const etag = await etagOf(ann, issue);
    for (let count = 0; count < 2; count += 1)
      expect((await bob.put(watchPath(issue)).expect(200)).body.is_watching).toBe(true);
    for (let count = 0; count < 2; count += 1) await bob.delete(watchPath(issue)).expect(204);
    expect(await isWatching(bob, issue)).toBe(false);
    expect(await etagOf(ann, issue)).toBe(etag);
    expect(await historyOf(ann, issue)).toHaveLength(1);
    const rows = await app.sql('SELECT user_id FROM issue_watchers WHERE issue_id = $1', [issue.id]);
    expect(rows).toEqual([{ user_id: bob.id }]);
  });

  it('continues after a person was deactivated and activated again', async () => {
    const issue = await createIssue(ann);
    const eve = await aPerson(app);
    await eve.put(watchPath(issue)).expect(200);
    const setActive = (isActive: boolean) =>
      app.sql('UPDATE identity_mirror SET is_active = $2 WHERE id = $1', [eve.id, isActive]);
    await setActive(false);
    // An instance that has not cached the person.
    const other = await startTestApp({}, app);
    await eve.on(other).delete(watchPath(issue)).expect(401);
    await other.close();
    await setActive(true);
    expect(await isWatching(eve, issue)).toBe(true);
  });

  it('accepts a key or a number, and returns 404 for an unknown issue', async () => {
    const issue = await createIssue(ann);
    for (const id of [issue.key, String(issue.number)])
      expect((await bob.put(watchPath({ id })).expect(200)).body.issue_id).toBe(issue.id);
    for (const send of [bob.get, bob.put, bob.delete] as ((path: string) => Test)[]) {
      expectProblem(await send(watchPath({ id: '2147483647' })), 404, 'issue_not_found');
      expectInvalidFields(await send(watchPath({ id: 'x' })), ['id']);
    }
  });
});

describe('GET /api/v1/users/me/watching/', () => {
  it('pages through the own watched issues, the last watched first', async () => {
    const eve = await aPerson(app);
    const issues = [];
    for (let count = 0; count < 7; count += 1)
      issues.push(await createIssue(eve, { title: `Issue ${count}` }));
    const [first, second] = issues;
    if (first === undefined || second === undefined) throw new Error('issues were created');
    await eve.delete(watchPath(second)).expect(204);
    await eve.delete(watchPath(first)).expect(204);
    await eve.put(watchPath(first)).expect(200);
    await ann.put(watchPath(second)).expect(200);
    const found: WatchedIssue[] = [];
    for (let next: string | undefined = `${listPath}?limit=2`; next !== undefined; ) {
      const { body, headers }: Response = await eve.get(next).expect(200);
      found.push(...body.map((item: unknown) => watchedIssueSchema.parse(item)));
      next = /<[^>]*(\/api[^>]+)>/.exec(headers.link ?? '')?.[1];
    }
    expect(found.map(({ id }) => id)).toEqual([
      first.id,
      ...issues
        .slice(2)
        .map(({ id }) => id)
        .reverse(),
    ]);
    const { id, number, key, title, status, priority } = first;
    expect(found[0]).toMatchObject({ id, number, key, title, status, priority });
    expectInvalidFields(await eve.get(`${listPath}?page=1`), ['page']);
    const other = await createIssue(eve);
    await eve.delete(watchPath(other)).expect(204);
    expect((await eve.get(listPath).expect(200)).body).toHaveLength(6);
  });
});

describe('two processes', () => {
  it('agree on who watches: one row for each person, and stopping wins over taking part', async () => {
    const services: [IssuesService, IssuesService] = await Promise.all([
      startIssuesService(app),
      startIssuesService(app),
    ]);
    const on = (person: TestPerson, index: number) => person.on(services[index % 2 === 0 ? 0 : 1]);
    const issue = await createIssue(ann);
    const both = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 4 < 2
          ? on(bob, index).post(issuePath(issue, 'comments/'), { body: 'x' })
          : on(bob, index).put(watchPath(issue)),
      ),
    );
    expect(both.map(({ status }) => status).filter((status) => status >= 300)).toEqual([]);
    expect(await isWatching(bob, issue)).toBe(true);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index === 0
          ? on(bob, index).delete(watchPath(issue))
          : on(bob, index).post(issuePath(issue, 'comments/'), { body: 'x' }),
      ),
    );
    expect(await isWatching(bob, issue)).toBe(false);
    const rows = await app.sql('SELECT user_id FROM issue_watchers WHERE issue_id = $1', [issue.id]);
    expect(rows).toEqual([{ user_id: bob.id }]);
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
  });
});
