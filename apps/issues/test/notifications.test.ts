import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import type { Response } from 'supertest';
import type { Database } from '../src/database.ts';
import type { Prisma } from '../src/generated/prisma/client.ts';
import { NotificationRepository } from '../src/notifications/notification.repository.ts';
import { startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { notificationsPath, readNotifications, untilNotified } from './support/notifications.ts';
import { anEmail, aPerson, type TestPerson } from './support/people.ts';
import './support/response-guard.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { importAll, importing } from './support/sync-import.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let eve: TestPerson;
beforeAll(async () => {
  app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  [ann, bob, eve] = await Promise.all([aKnownPerson(), aKnownPerson(), aKnownPerson()]);
});
/** Resources of single tests. */
const opened: { close: () => Promise<unknown> }[] = [];
afterAll(async () => {
  for (const one of [...opened, app]) await one.close();
});

/** Creates a person who has used the service, so that texts can mention them. */
async function aKnownPerson(
  of = app,
  options: { is_staff?: boolean; email?: string } = {},
): Promise<TestPerson> {
  const person = await aPerson(of, options);
  await person.get('/api/v1/users/me/').expect(200);
  return person;
}

const comment = async (by: TestPerson, issue: Issue, body: string): Promise<string> =>
  (await by.post(issuePath(issue, 'comments/'), { body }).expect(201)).body.id;

/** Returns the reasons and the types of the new notifications of people, the oldest first. */
async function notified(people: TestPerson[], act: () => PromiseLike<unknown>, of = app) {
  const before: (number | undefined)[] = [];
  await untilNotified(of);
  for (const person of people) before.push((await readNotifications(person, '?limit=1'))[0]?.id);
  await act();
  await untilNotified(of);
  const found: string[][] = [];
  for (const [index, person] of people.entries()) {
    const all = await readNotifications(person);
    const added = all.filter(({ id }) => id > (before[index] ?? 0));
    found.push(added.reverse().map(({ reason, type }) => `${reason} ${type}`));
  }
  return found;
}

describe('the day before an issue is due, and on that day,', () => {
  it('the assignee and the watchers of an open issue are notified once, over two replicas', async () => {
    const issue = await createIssue(ann, { assignee_id: bob.id, due_on: '2999-01-10' });
    const late = await createIssue(ann, { due_on: '2999-01-01' });
    const closed = await createIssue(ann, { due_on: '2999-01-10' });
    await ann.post(issuePath(closed, 'status/'), { status: 'CLOSED' }).expect(200);
    await eve.put(issuePath(issue, 'watch/')).expect(200);
    const [reporter, assignee, watcher] = ['watching', 'assigned', 'watching'].map((reason) => [
      `${reason} issue.due`,
    ]);
    const on = (day: string) => async () => {
      const replicas = [1, 2].map(
        () => new NotificationRepository(app.database, undefined, () => new Date(day)),
      );
      for (let round = 0; round < 3; round += 1)
        await Promise.all(replicas.map((replica) => replica.notify()));
    };
    const people = [ann, bob, eve];
    expect(await notified(people, on('2999-01-08T23:59:59Z'))).toEqual([[], [], []]);
    expect(await notified(people, on('2999-01-09T00:00:00Z'))).toEqual([reporter, assignee, watcher]);
    expect(await notified(people, on('2999-01-09T23:00:00Z'))).toEqual([[], [], []]);
    await bob.delete(issuePath(issue, 'watch/')).expect(204);
    expect(await notified(people, on('2999-01-10T00:00:00Z'))).toEqual([reporter, assignee, watcher]);
    expect(await notified(people, on('2999-01-11T00:00:00Z'))).toEqual([[], [], []]);
    await ann.patch(issuePath(issue), { due_on: '2999-01-12' }).expect(200);
    await untilNotified(app);
    expect(await notified([ann], on('2999-01-12T00:00:00Z'))).toEqual([reporter]);
    const rows = await app.sql<{ remind_on: unknown }>(
      `SELECT remind_on FROM issues WHERE id = ANY($1::uuid[])`,
      [[issue.id, late.id, closed.id]],
    );
    expect(rows).toEqual(Array(3).fill({ remind_on: null }));
    const event = { data: { issue_key: issue.key, due_on: '2999-01-12', assignee_id: bob.id } };
    const { body } = await ann.get('/api/v1/events/?limit=200').expect(200);
    expect(body.events.filter(({ type }: { type: string }) => type === 'issue.due').at(-1)).toMatchObject(
      event,
    );
  });
});

describe('a reminder', () => {
  it('comes after an issue is opened again, and once a day for a date that is set again', async () => {
    const issue = await createIssue(ann, { due_on: '2998-01-10' });
    const on = (day: string) => () =>
      new NotificationRepository(app.database, undefined, () => new Date(day)).notify();
    const due = async (day: string) =>
      (await notified([ann], on(day)))[0]?.filter((one) => one === 'watching issue.due').length;
    const setDue = (day: string | null) => ann.patch(issuePath(issue), { due_on: day }).expect(200);
    const setStatus = (status: string) => ann.post(issuePath(issue, 'status/'), { status }).expect(200);
    await setStatus('CLOSED');
    expect(await due('2998-01-09T10:00:00Z')).toBe(0);
    await setStatus('REOPENED');
    expect(await due('2998-01-09T11:00:00Z')).toBe(1);
    await setDue(null);
    await setDue('2998-01-10');
    await setStatus('RESOLVED');
    await setStatus('REOPENED');
    expect(await due('2998-01-09T12:00:00Z')).toBe(0);
    expect(await due('2998-01-10T00:00:00Z')).toBe(1);
    await setDue(null);
    await setDue('2998-01-10');
    expect(await due('2998-01-10T01:00:00Z')).toBe(0);
    await setDue('2998-01-11');
    expect(await due('2998-01-10T02:00:00Z')).toBe(0);
    expect(await due('2998-01-11T00:00:00Z')).toBe(1);
    expect(await due('2998-01-12T00:00:00Z')).toBe(0);
  });
});

describe('an event notifies', () => {
  it('the assignee and the mentioned people of a new issue, each once with the stronger reason', async () => {
    const draft = { assignee_id: bob.id, description: `@${bob.username} and @${eve.username}` };
    expect(await notified([ann, bob, eve], () => createIssue(ann, draft))).toEqual([
      [],
      ['mentioned issue.created'],
      ['mentioned issue.created'],
    ]);
    expect(await notified([ann, bob], () => createIssue(ann, { assignee_id: bob.id }))).toEqual([
      [],
      ['assigned issue.created'],
    ]);
  });

  it('watchers of every change once, also of one with many parts, besides the actor, also a reporter without a row', async () => {
    const issue = await createIssue(ann, { assignee_id: bob.id });
    await eve.put(issuePath(issue, 'watch/')).expect(200);
    const link = { type: 'invoice', ref: '1' };
    const [reporter, actor, watcher] = await notified([ann, bob, eve], async () => {
      await bob.patch(issuePath(issue), { title: 'New', priority: 'LOW' }).expect(200);
      await bob.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
      await comment(bob, issue, 'x');
      const { body } = await bob.post(issuePath(issue, 'links/'), link).expect(201);
      await bob.delete(issuePath(issue, `links/${body.id}/`)).expect(204);
      const links = Array.from({ length: 50 }, (_, index) => ({
        type: 'helpdesk_ticket',
        ref: `T-${index}`,
      }));
      const { status, body: problem } = await bob.patch(issuePath(issue), { priority: 'HIGH', links });
      expect([status, problem.errors]).toEqual([200, undefined]);
      await bob.post(issuePath(issue, 'status/'), { status: 'RESOLVED', comment: 'Done.' }).expect(200);
    });
    const types = [
      'updated',
      'status_changed',
      'commented',
      'link_added',
      'link_removed',
      'updated',
      'commented',
    ];
    expect(reporter).toEqual(types.map((type) => `watching issue.${type}`));
    expect(watcher).toEqual(reporter);
    expect(actor).toEqual([]);
  });

  it('people mentioned in a text for the first time, and of a changed comment only them', async () => {
    const issue = await createIssue(ann, { description: `@${bob.username}` });
    const id = await comment(ann, issue, `@${bob.username}`);
    const rewrite = (body: string) => ann.patch(issuePath(issue, `comments/${id}/`), { body }).expect(200);
    const describeAs = (description: string) => ann.patch(issuePath(issue), { description }).expect(200);
    expect(await notified([bob, eve], () => rewrite(`@${bob.username} @${eve.username}`))).toEqual([
      [],
      ['mentioned comment.updated'],
    ]);
    await eve.delete(issuePath(issue, 'watch/')).expect(204);
    expect(await notified([bob, eve], () => describeAs(`@${bob.username} @${eve.username}`))).toEqual([
      ['watching issue.updated'],
      ['mentioned issue.updated'],
    ]);
    expect(
      await notified([bob, eve], async () => {
        await rewrite('No mention');
        await rewrite(`Again, @${bob.username} @${eve.username}`);
        await describeAs('No mention');
        await describeAs(`Again, @${eve.username}`);
        await ann.patch(issuePath(issue), { title: 'Other' }).expect(200);
      }),
    ).toEqual([Array(3).fill('watching issue.updated'), []]);
  });

  it('people mentioned again in a text once, also if all its changes are processed together', async () => {
    const issue = await createIssue(ann);
    const texts = ['No mention', `@${eve.username}`, 'None', `@${eve.username} again`];
    expect(
      await notified([eve], () =>
        // No event is processed before this transaction ends.
        app.database.$transaction(
          async (transaction) => {
            await transaction.$queryRaw`SELECT pg_current_xact_id()::text`;
            const id = await comment(ann, issue, `First @${eve.username}`);
            for (const body of texts)
              await ann.patch(issuePath(issue, `comments/${id}/`), { body }).expect(200);
          },
          { timeout: 240_000 },
        ),
      ),
    ).toEqual([['mentioned issue.commented']]);
  });

  it('no one of a relation, whose other issue the watchers may not read', async () => {
    const [watched, other] = [await createIssue(ann), await createIssue(bob)];
    const relate = () =>
      bob.post(issuePath(other, 'relations/'), { kind: 'relates', issue: watched.id }).expect(201);
    expect(await notified([ann], relate)).toEqual([[]]);
  });

  it('no one who has stopped watching, except by a mention or an assignment', async () => {
    const issue = await createIssue(ann, { assignee_id: bob.id });
    for (const person of [ann, bob]) await person.delete(issuePath(issue, 'watch/')).expect(204);
    const staff = await aKnownPerson(app, { is_staff: true });
    expect(
      await notified([ann, bob], async () => {
        await comment(staff, issue, 'x');
        await comment(staff, issue, `@${ann.username}`);
        await staff.patch(issuePath(issue), { assignee_id: null }).expect(200);
        await staff.patch(issuePath(issue), { assignee_id: bob.id }).expect(200);
      }),
    ).toEqual([['mentioned issue.commented'], ['assigned issue.updated']]);
  });

  it('neither deactivated people nor watchers of a comment that was deleted before', async () => {
    const issue = await createIssue(ann);
    const away = await aKnownPerson();
    await away.put(issuePath(issue, 'watch/')).expect(200);
    const setActive = (isActive: boolean) =>
      app.sql('UPDATE identity_mirror SET is_active = $2 WHERE id = $1', [away.id, isActive]);
    await setActive(false);
    // No event is processed before this transaction ends.
    const id = await app.database.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT pg_current_xact_id()::text`;
      const added = await comment(bob, issue, 'x');
      await bob.delete(issuePath(issue, `comments/${added}/`)).expect(204);
      return added;
    });
    await comment(bob, issue, 'y');
    await untilNotified(app);
    await setActive(true);
    expect(await readNotifications(away)).toEqual([]);
    const found = await readNotifications(ann, `?issue=${issue.key}`);
    expect(found.map(({ comment_id }) => comment_id)).toEqual([expect.not.stringMatching(id)]);
  });

  it('each watcher once for each issue of a bulk change', async () => {
    const staff = await aKnownPerson(app, { is_staff: true });
    const issues = [await createIssue(ann), await createIssue(ann), await createIssue(bob)];
    const ids = issues.map(({ id }) => id);
    const change = { ids, assignee_id: eve.id };
    expect(
      await notified([ann, bob, eve, staff], () => staff.post(`${issuesPath}bulk/`, change).expect(200)),
    ).toEqual([
      ['watching issue.updated', 'watching issue.updated'],
      ['watching issue.updated'],
      Array(3).fill('assigned issue.updated'),
      [],
    ]);
  });

  it('watchers of a change in the external tracker, and no one of imported issues', async () => {
    const tracker = await startFakeTracker('gitea');
    for (const title of ['One', 'Two'])
      tracker.fake.editIssue(tracker.fake.createIssue({ title }), { assignee: 'jo' });
    const email = anEmail();
    const variables = { ...importing, TRACKER_ASSIGNEES: `jo=${email}` };
    const service = await startTestApp(trackerEnvironment(tracker, variables));
    opened.push(service, tracker);
    const staff = await aKnownPerson(service, { is_staff: true, email });
    expect(await notified([staff], () => importAll(staff), service)).toEqual([[]]);
    const { body: imported } = await staff.get(`${issuesPath}?assignee=me`).expect(200);
    expect(imported).toHaveLength(2);
    const issue = await createIssue(staff);
    await syncIssue(staff, issue);
    const remote = tracker.fake.issues().find(({ title }) => title === issue.title)?.number;
    await tracker.comment(String(remote), 'From there');
    expect(await notified([staff], () => syncIssue(staff, issue), service)).toEqual([
      ['watching issue.commented'],
    ]);
    const [notification] = await readNotifications(staff);
    expect(notification?.actor).toBeNull();
  });
});

describe('GET /api/v1/notifications/', () => {
  let person: TestPerson;
  let issue: Issue;
  beforeAll(async () => {
    person = await aKnownPerson();
    issue = await createIssue(person, { title: 'Printer' });
    for (let count = 0; count < 5; count += 1) await comment(ann, issue, `Number ${count}`);
    await comment(ann, await createIssue(bob), `@${person.username}`);
    await untilNotified(app);
  });

  it('shows the event, the issue, the actor and the comment', async () => {
    const id = await comment(ann, issue, 'x');
    await untilNotified(app);
    const [shown] = await readNotifications(person);
    expect(shown).toEqual({
      id: expect.any(Number),
      reason: 'watching',
      type: 'issue.commented',
      issue: { id: issue.id, key: issue.key, title: 'Printer' },
      actor: { id: ann.id, username: ann.username },
      changed: [],
      status: null,
      comment_id: id,
      more_count: 0,
      created_at: expect.any(String),
      read_at: null,
      done_at: null,
      snoozed_until: null,
    });
    await ann.delete(issuePath(issue, `comments/${id}/`)).expect(204);
    expect((await readNotifications(person))[0]).toEqual({ ...shown, comment_id: null });
  });

  it('says which members a change has changed, and the status before and after, without values', async () => {
    const watcher = await aKnownPerson();
    const watched = await createIssue(ann);
    await watcher.put(issuePath(watched, 'watch/')).expect(200);
    const patch = (change: object) => ann.patch(issuePath(watched), change).expect(200);
    const setStatus = (change: object) => ann.post(issuePath(watched, 'status/'), change).expect(200);
    await patch({ priority: 'URGENT' });
    await patch({ title: 'New', description: 'New', due_on: '2999-12-31' });
    await setStatus({ status: 'IN_PROGRESS' });
    await setStatus({ status: 'RESOLVED', comment: 'Done.' });
    // A sync can change the status in several steps, and other members with them; only known members are named.
    await app.sql(
      `INSERT INTO events (tx, type, subject_id, rev, data)
       SELECT pg_current_xact_id()::text::bigint, type, $1, 1000000, data || '{"actor_id": null, "origin": "gitea"}'
         FROM (VALUES ('issue.status_changed', '{"from": "RESOLVED", "to": "REOPENED"}'::jsonb),
                      ('issue.status_changed', '{"from": "REOPENED", "to": "IN_PROGRESS"}'),
                      ('issue.updated', '{"changed": ["relations", "secret", "title"]}')) event (type, data)`,
      [watched.id],
    );
    await app.sql(
      `INSERT INTO events (tx, type, subject_id, rev, data)
       SELECT pg_current_xact_id()::text::bigint, type, $1, 1000001, data || '{"actor_id": null, "origin": "gitea"}'
         FROM (VALUES ('issue.updated', '{"changed": ["priority"]}'::jsonb),
                      ('issue.sync_conflict', '{"changed": ["external", "title"]}')) event (type, data)`,
      [watched.id],
    );
    await untilNotified(app);
    const shown = async (query = '') =>
      (await readNotifications(watcher, query)).map(({ type, changed, status }) => [type, changed, status]);
    const all = [
      ['issue.sync_conflict', ['title'], null],
      ['issue.status_changed', ['status', 'title'], { from: 'RESOLVED', to: 'IN_PROGRESS' }],
      ['issue.commented', ['status'], { from: 'IN_PROGRESS', to: 'RESOLVED' }],
      ['issue.status_changed', ['status'], { from: 'OPEN', to: 'IN_PROGRESS' }],
      ['issue.updated', ['title', 'due_on', 'description'], null],
      ['issue.updated', ['priority'], null],
    ];
    expect(await shown()).toEqual(all);
    // Rows of an earlier version have nothing.
    await app.sql('UPDATE notifications SET changes = NULL WHERE identity_id = $1', [watcher.id]);
    expect(await shown()).toEqual(all.map(([type]) => [type, [], null]));
  });

  it('pages from the newest, with filters', async () => {
    const all = await readNotifications(person);
    const paged: number[] = [];
    for (let next: string | undefined = `${notificationsPath}?limit=2&unread=true`; next !== undefined; ) {
      const { body, headers }: Response = await person.get(next).expect(200);
      paged.push(...body.map(({ id }: { id: number }) => id));
      next = /<[^>]*(\/api[^>]+)>/.exec(headers.link ?? '')?.[1];
    }
    expect(paged).toEqual(all.map(({ id }) => id));
    expect(paged).toEqual([...paged].sort((a, b) => b - a));
    const count = async (query: string) => (await readNotifications(person, query)).length;
    expect(await count('?reason=mentioned,assigned')).toBe(1);
    expect(await count(`?issue=${issue.number}`)).toBe(all.length - 1);
    expect(await count(`?issue=${issue.id}&reason=mentioned`)).toBe(0);
    expect(await count('?issue=999999')).toBe(0);
    expectInvalidFields(await person.get(`${notificationsPath}?issue=x`), ['issue']);
    expectInvalidFields(await person.get(`${notificationsPath}?page=1&unread=maybe`), ['page', 'unread']);
  });

  it('answers 304 until there is a new notification or one is marked', async () => {
    const first = await person.get(notificationsPath).expect(200);
    const etag = String(first.headers.etag);
    const ask = () => person.get(notificationsPath).set('If-None-Match', etag);
    await ask().expect(304);
    await person.post(`${notificationsPath}read/`, { ids: [first.body[0].id] }).expect(200);
    await ask().expect(200);
    await person.post(`${notificationsPath}unread/`, { ids: [first.body[0].id] }).expect(200);
    await ask().expect(304);
    await comment(ann, issue, 'One more');
    await untilNotified(app);
    await ask().expect(200);
  });
});

describe('marking notifications', () => {
  const mark = async (by: TestPerson, state: 'read' | 'unread', body: object): Promise<number> =>
    (await by.post(`${notificationsPath}${state}/`, body).expect(200)).body.unread_count;

  it('changes only own ones, and those that arrive after the last seen one stay unread', async () => {
    const [person, other] = await Promise.all([aKnownPerson(), aKnownPerson()]);
    const issue = await createIssue(person);
    await other.put(issuePath(issue, 'watch/')).expect(200);
    for (const body of ['1', '2', '3']) await comment(ann, issue, body);
    await untilNotified(app);
    const seen = (await readNotifications(person)).map(({ id }) => id);
    const [newest = 0, second = 0] = seen;
    await comment(ann, issue, '4');
    await untilNotified(app);
    expect(await mark(other, 'read', { ids: seen })).toBe(4);
    expect(await mark(person, 'read', { ids: [second, 1, 2 ** 50] })).toBe(3);
    expect(await mark(person, 'read', { up_to: newest })).toBe(1);
    expect(await mark(person, 'read', { up_to: newest })).toBe(1);
    expect(await readNotifications(person, '?unread=true')).toHaveLength(1);
    expect((await readNotifications(person, '?unread=false')).map(({ id }) => id)).toEqual(seen);
    expect(await mark(person, 'unread', { ids: [second, newest] })).toBe(3);
    expect(await mark(person, 'unread', { ids: [second, newest] })).toBe(3);
    expect(await readNotifications(other, '?unread=true')).toHaveLength(4);
    const keptFor = await app.sql(
      `SELECT DISTINCT extract(day FROM expires_at - coalesce(read_at, created_at))::int AS days
         FROM notifications WHERE identity_id = $1 ORDER BY days`,
      [person.id],
    );
    expect(keptFor).toEqual([{ days: 30 }, { days: 90 }]);
  });

  it('needs exactly one of ids and up_to', async () => {
    const read = (body: object) => ann.post(`${notificationsPath}read/`, body);
    for (const body of [{}, { ids: [1], up_to: 1 }])
      expectProblem(await read(body), 422, 'validation_failed');
    for (const ids of [['x'], [0]]) expectInvalidFields(await read({ ids }), ['ids.0']);
    for (const ids of [[], 1, Array(101).fill(1)]) expectInvalidFields(await read({ ids }), ['ids']);
    expectInvalidFields(await read({ up_to: 0 }), ['up_to']);
  });
});

describe('a reader of events', () => {
  it('reads fewer events in a statement after a failure, until it has read all', async () => {
    const asked: unknown[] = [];
    const answers = [new Error('statement timeout'), 10, 4, 200];
    const $queryRaw = async ({ values }: Prisma.Sql) => {
      asked.push(values.find((value) => typeof value === 'number'));
      const count = answers.shift();
      if (count instanceof Error) throw count;
      return [{ count }];
    };
    const repository = new NotificationRepository({ $queryRaw } as unknown as Database);
    await expect(repository.notify()).rejects.toThrow('statement timeout');
    expect([await repository.notify(), await repository.notify(), await repository.notify()]).toEqual([
      true,
      false,
      true,
    ]);
    expect(asked).toEqual([200, 10, 10, 200]);
  });
});

describe('two processes', () => {
  it('make each notification once', async () => {
    const second = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' }, app);
    opened.push(second);
    const person = await aKnownPerson();
    const issue = await createIssue(person);
    const comments = await Promise.all(
      Array.from({ length: 60 }, (_, index) => comment(index % 2 === 0 ? ann : ann.on(second), issue, 'x')),
    );
    await untilDeliverable(app);
    const signals = [app, second].map(({ dependencies }) => dependencies.eventSignal);
    for (const signal of signals) signal.written();
    await untilNotified(app);
    const found = await readNotifications(person, '?limit=200');
    expect(found.map(({ comment_id }) => comment_id).sort()).toEqual(comments.sort());
  });
});
