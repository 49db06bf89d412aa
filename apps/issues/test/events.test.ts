import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, type IssueEvent, issueEventFeedSchema } from '@tessera/contracts';
import { CleanupJob } from '@tessera/service-kit';
import { migrate } from '@tessera/service-kit/migrate';
import { accessLine } from '@tessera/testing/leaks';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { prismaDir } from '../src/database.ts';
import './support/response-guard.ts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { importAll, importing } from './support/sync-import.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const eventsPath = '/api/v1/events/';

async function readPage(person: TestPerson, query: string) {
  return issueEventFeedSchema.strict().parse((await person.get(`${eventsPath}${query}`).expect(200)).body);
}

/** Returns the events that an action writes, without ids and times. */
async function eventsOf(person: TestPerson, act: () => PromiseLike<unknown>, of = app) {
  await untilDeliverable(of);
  const { next } = await readPage(person, '?after=now');
  await act();
  await untilDeliverable(of);
  const { events, reset } = await readPage(person, `?after=${next}`);
  expect(reset).toBe(false);
  return events.map(({ type, data }) => ({ type, ...data }));
}

let app: TestApp;
let ann: TestPerson;
let issue: Issue;
beforeAll(async () => {
  app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  ann = await aPerson(app, { is_staff: true });
  issue = await createIssue(ann);
  await ann.post('/api/v1/labels/', { name: 'bug' }).expect(201);
});
/** Resources of single tests. */
const opened: { close: () => Promise<unknown> }[] = [];
afterAll(async () => {
  for (const one of [...opened, app]) await one.close();
});

const by = () => ({ actor_id: ann.id, origin: 'local' });
const on = (of: Issue, version = 1) => ({ issue_id: of.id, issue_key: of.key, version, ...by() });

describe('the events of a change', () => {
  it('are one for a creation, also with links, labels and an idempotency key that is used twice', async () => {
    const key = randomUUID();
    const body = { title: 'x', links: [{ type: 'invoice', ref: '1' }], labels: ['bug'] };
    const created: Issue[] = [];
    const events = await eventsOf(ann, async () => {
      for (let time = 0; time < 2; time += 1)
        created.push((await ann.post(issuesPath, body).set('Idempotency-Key', key).expect(201)).body);
    });
    expect(created[1]?.id).toBe(created[0]?.id);
    expect(events).toEqual(created.slice(0, 1).map((one) => ({ type: 'issue.created', ...on(one) })));
  });

  it('are one for all changed fields of a request, with the new version, and none without a change', async () => {
    const of = await createIssue(ann);
    const change = { title: 'New', priority: 'URGENT', assignee_id: ann.id, labels: ['bug'] };
    const update = () => ann.patch(issuePath(of), change).expect(200);
    expect(await eventsOf(ann, update)).toEqual([
      {
        type: 'issue.updated',
        ...on(of, 2),
        changed: ['assignee', 'labels', 'priority', 'title'],
        assignee_id: ann.id,
      },
    ]);
    expect(await eventsOf(ann, update)).toEqual([]);
    expect(await eventsOf(ann, () => ann.patch(issuePath(of), { labels: [] }).expect(200))).toEqual([
      { type: 'issue.updated', ...on(of, 2), changed: ['labels'] },
    ]);
  });

  it('are none for a refused change', async () => {
    const of = await createIssue(ann);
    const stranger = await aPerson(app);
    const events = await eventsOf(ann, async () => {
      await stranger.patch(issuePath(of), { title: 'Mine' }).expect(403);
      await ann.post(issuePath(of, 'status/'), { status: 'REOPENED' }).expect(409);
      await ann.patch(issuePath(of), { title: 'x' }).set('If-Match', '"9.9"').expect(412);
      await ann.post(issuesPath, { title: '' }).expect(422);
    });
    expect(events).toEqual([]);
  });

  it('are the status and the comment of a change of status, and none for the current status', async () => {
    const of = await createIssue(ann);
    const resolve = () =>
      ann.post(issuePath(of, 'status/'), { status: 'RESOLVED', comment: 'Done' }).expect(200);
    expect(await eventsOf(ann, resolve)).toEqual([
      { type: 'issue.status_changed', ...on(of), from: 'OPEN', to: 'RESOLVED' },
      { type: 'issue.commented', ...on(of), comment_id: expect.any(String) },
    ]);
    expect(await eventsOf(ann, resolve)).toEqual([]);
  });

  it('are one for each write to a comment', async () => {
    const path = issuePath(issue, 'comments/');
    let id = '';
    const events = await eventsOf(ann, async () => {
      ({ id } = (await ann.post(path, { body: 'x' }).expect(201)).body);
      await ann.patch(`${path}${id}/`, { body: 'y' }).expect(200);
      await ann.patch(`${path}${id}/`, { body: 'y' }).expect(200);
      await ann.delete(`${path}${id}/`).expect(204);
      await ann.delete(`${path}${id}/`).expect(204);
    });
    expect(events).toEqual(
      ['issue.commented', 'comment.updated', 'comment.deleted'].map((type) => ({
        type,
        ...on(issue),
        comment_id: id,
      })),
    );
  });

  it('are one for each link, in one request and in several', async () => {
    const link = { link_type: 'invoice', link_ref: '7' };
    const put = (title: string) => ann.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '7', title });
    let id = '';
    const events = await eventsOf(ann, async () => {
      ({ id } = (await put('a').expect(201)).body);
      await put('a').expect(200);
      await put('b').expect(200);
      await ann.delete(issuePath(issue, `links/${id}/`)).expect(204);
      await ann
        .patch(issuePath(issue), { links: [1, 2].map((ref) => ({ type: 'entity', ref: `${ref}` })) })
        .expect(200);
    });
    expect(events).toEqual([
      { type: 'issue.link_added', ...on(issue), ...link },
      { type: 'issue.updated', ...on(issue), changed: ['links'] },
      { type: 'issue.link_removed', ...on(issue), ...link },
      { type: 'issue.link_added', ...on(issue), link_type: 'entity', link_ref: '1' },
      { type: 'issue.link_added', ...on(issue), link_type: 'entity', link_ref: '2' },
    ]);
  });

  it('are one for each issue that a bulk change changes', async () => {
    const of = [await createIssue(ann), await createIssue(ann, { priority: 'LOW' })];
    const ids = of.map(({ id }) => id);
    const change = (body: object) => () => ann.post(`${issuesPath}bulk/`, { ids, ...body }).expect(200);
    const changed = await eventsOf(ann, change({ priority: 'LOW' }));
    expect(changed).toEqual([{ type: 'issue.updated', ...on(of[0] as Issue, 2), changed: ['priority'] }]);
    const closed = await eventsOf(ann, change({ status: 'CLOSED' }));
    expect(closed.map(({ type, issue_id }) => [type, issue_id]).sort()).toEqual(
      ids.map((id) => ['issue.status_changed', id]).sort(),
    );
  });

  it('are none for watching, reading and a new label', async () => {
    const events = await eventsOf(ann, async () => {
      await ann.put(issuePath(issue, 'watch/')).expect(200);
      await ann.get(issuePath(issue)).expect(200);
      await ann.post('/api/v1/labels/', { name: 'other' }).expect(201);
    });
    expect(events).toEqual([]);
  });

  it('are none if the transaction is rolled back', async () => {
    const by = { actorId: ann.id, requestId: 'rolled back' };
    const change = async () => ({ change: { fields: { title: 'Rolled back' } }, result: true });
    const events = await eventsOf(ann, async () => {
      const rolledBack = app.database.$transaction(async (transaction) => {
        expect(await app.dependencies.writer.changeLocked(issue.id, by, change, transaction)).toBe(true);
        throw new Error('rolled back');
      });
      await expect(rolledBack).rejects.toThrow('rolled back');
    });
    expect(events).toEqual([]);
  });
});

it('the events of a dump from a server that had counted more transactions go on after its migrations', async () => {
  const restored = await startTestApp();
  opened.push(restored);
  const staff = await aPerson(restored, { is_staff: true });
  const of = await createIssue(staff);
  const later = 1_000_000_000_000;
  await restored.sql('UPDATE issues SET event_tx = $1', [later]);
  await restored.sql(
    `INSERT INTO events (tx, type, subject_id, data) VALUES ($1, 'issue.updated', $2, '{}')`,
    [later, of.id],
  );
  const rename = () => staff.patch(issuePath(of), { title: 'Renamed' }).expect(200);
  const restart = () => migrate({ connectionString: restored.databaseUrl, prismaDir });
  const [before] = await restored.sql('SELECT rev FROM issues');
  await restart();
  expect(await restored.sql('SELECT rev FROM issues')).toEqual([before]);
  expect((await eventsOf(staff, rename, restored)).map(({ type }) => type)).toEqual(['issue.updated']);
  const events = await restored.sql('SELECT tx, id FROM events');
  await restart();
  expect(await restored.sql('SELECT tx, id FROM events')).toEqual(events);
});

describe('the events of the external tracker', () => {
  it('are those of the merge, of the remote issue and of the end of the sync', async () => {
    const tracker = await startFakeTracker('gitea');
    const service = await startTestApp(trackerEnvironment(tracker));
    opened.push(service, tracker);
    const staff = await aPerson(service, { is_staff: true });
    const of = await createIssue(staff, { title: 'Both' });
    const typesOf = async (act: () => Promise<unknown>) =>
      (await eventsOf(staff, act, service)).map((event) =>
        'changed' in event ? [event.type, event.changed] : event.type,
      );
    const sync = () => syncIssue(staff, of);
    const remote = () => String(tracker.fake.issues()[0]?.number);
    const first = await eventsOf(staff, sync, service);
    const synced = {
      type: 'issue.synced',
      issue_id: of.id,
      issue_key: of.key,
      origin: 'gitea',
      remote_id: remote(),
    };
    expect(first).toEqual([synced, synced]);
    // A sync without effect has no event.
    expect(await typesOf(sync)).toEqual([]);

    await tracker.edit(remote(), { title: 'There', state: 'closed' });
    await tracker.comment(remote(), 'From there');
    const pulled = await eventsOf(staff, sync, service);
    expect(pulled.map(({ type }) => type).sort()).toEqual([
      'issue.commented',
      'issue.status_changed',
      'issue.synced',
      'issue.updated',
    ]);
    expect(pulled.every(({ origin }) => origin === 'gitea')).toBe(true);

    await tracker.edit(remote(), { title: 'Remote title' });
    await staff.patch(issuePath(of), { title: 'Local title' }).expect(200);
    expect(await typesOf(sync)).toContainEqual(['issue.sync_conflict', ['title']]);
    expect(
      await eventsOf(staff, () => staff.delete(issuePath(of, 'external/')).expect(200), service),
    ).toEqual([{ ...synced, remote_id: null }]);
  });

  it('are one for each imported issue', async () => {
    const tracker = await startFakeTracker('gitea');
    for (const title of ['One', 'Two']) tracker.fake.createIssue({ title });
    const service = await startTestApp(trackerEnvironment(tracker, importing));
    opened.push(service, tracker);
    const staff = await aPerson(service, { is_staff: true });
    const events = await eventsOf(staff, () => importAll(staff), service);
    const created = events.filter(({ type }) => type === 'issue.created');
    expect(created).toMatchObject([1, 2].map(() => ({ actor_id: null, origin: 'gitea', version: 1 })));
  });
});

describe('GET /api/v1/events/', () => {
  it('is logged at debug for a page without events, and at info otherwise', async () => {
    await untilDeliverable(app);
    const levels = [];
    for (const query of ['?after=now', '']) {
      const response = await ann.get(`${eventsPath}${query}`).expect(200);
      const line = await accessLine(app.log, response.headers['x-request-id'] ?? '');
      levels.push([response.body.events.length > 0, line.level]);
    }
    expect(levels).toEqual([
      [false, 'debug'],
      [true, 'info'],
    ]);
  });

  const idsOf = (events: IssueEvent[]) => events.map(({ id }) => id);

  it('returns the events from the oldest, in pages, and nothing after the last', async () => {
    await untilDeliverable(app);
    const all = await readPage(ann, '');
    const paged: number[] = [];
    let query = '?limit=7';
    for (;;) {
      const { events, next, reset } = await readPage(ann, query);
      expect(reset).toBe(false);
      paged.push(...idsOf(events));
      query = `?limit=7&after=${next}`;
      if (events.length === 0) break;
    }
    expect(paged.slice(0, all.events.length)).toEqual(idsOf(all.events));
    const stored = await app.sql<{ id: number }>('SELECT id::int FROM events WHERE tx > 0 ORDER BY tx, id');
    expect(paged).toEqual(stored.map(({ id }) => id));
  });

  it('is for every active user, as the list of issues is, and needs a token', async () => {
    const stranger = await aPerson(app);
    expect((await readPage(stranger, '?limit=1')).events).toHaveLength(1);
    expectProblem(await app.http.get(eventsPath), 401, 'unauthorized');
  });

  it('rejects other cursors, limits and parameters', async () => {
    const { next } = await readPage(ann, '?after=now');
    const changed = `${next.slice(0, -1)}${next.endsWith('A') ? 'B' : 'A'}`;
    for (const cursor of ['x', changed, '', 'n'.repeat(201)])
      expectInvalidFields(await ann.get(`${eventsPath}?after=${cursor}`), ['after']);
    for (const limit of [0, 201, 'x'])
      expectInvalidFields(await ann.get(`${eventsPath}?limit=${limit}`), ['limit']);
    expect((await ann.get(`${eventsPath}?cursor=${next}`)).status).toBe(422);
  });

  it('returns a reset for a cursor of another database and for one from the future', async () => {
    const other = await startTestApp({}, { identity: app.identity });
    opened.push(other);
    const { next } = await readPage(await aPerson(other), '?after=now');
    const here = await readPage(ann, `?after=${next}`);
    expect(here).toEqual({ events: [], next: expect.any(String), reset: true });
    await createIssue(ann);
    await untilDeliverable(app);
    expect((await readPage(ann, `?after=${here.next}`)).events).toHaveLength(1);
  });

  it('returns a reset after unread events were deleted, and not before', async () => {
    await untilDeliverable(app);
    const start = await readPage(ann, '?limit=1');
    const end = await readPage(ann, '?after=now');
    await app.sql(`UPDATE events SET at = now() - interval '8 days'`);
    await createIssue(ann);
    expect((await readPage(ann, `?limit=1&after=${start.next}`)).reset).toBe(false);
    const tasks = cleanupTasks(new CleanupRepository(app.database), { eventRetentionDays: 7 });
    const { logger } = app.dependencies;
    const cleanup = new CleanupJob({ tasks, logger, intervalSeconds: 0, batchSize: 5 });
    expect((await cleanup.run()).events).toBeGreaterThan(10);
    expect((await cleanup.run()).events).toBe(0);
    await untilDeliverable(app);
    expect(await readPage(ann, `?after=${start.next}`)).toMatchObject({ events: [], reset: true });
    const kept = await readPage(ann, `?after=${end.next}`);
    expect([kept.reset, kept.events.length]).toEqual([false, 1]);
  });
});
