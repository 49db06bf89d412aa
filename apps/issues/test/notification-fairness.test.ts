import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { createIssue, issuePath } from './support/issues.ts';
import { notificationsPath, readNotifications, untilNotified } from './support/notifications.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let busy: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  [ann, busy] = await Promise.all([aPerson(app), aPerson(app, { is_staff: true })]);
});
afterAll(() => app.close());

const comment = (by: TestPerson, issue: Issue, body: string) =>
  by.post(issuePath(issue, 'comments/'), { body }).expect(201);

/** Adds notifications that an actor has caused, the newest ones of the person and of the actor. */
const fill = (person: TestPerson, actor: TestPerson, issue: Issue, reason: string, count: number) =>
  app.sql(
    `INSERT INTO notifications (identity_id, place, source, source_place, event_id, reason, type, issue_id, actor_id, created_at, expires_at)
     SELECT $1::uuid, coalesce(newest, 0) + n, md5(concat_ws(' ', $1::uuid, $2::uuid, $4::text <> 'watching'))::uuid, n, -coalesce(newest, 0) - n, $4, 'issue.updated', $3, $2, now(), now() + interval '1 day'
       FROM generate_series(1, $5::int) n, (SELECT max(place) AS newest FROM notifications WHERE identity_id = $1) newest`,
    [person.id, actor.id, issue.id, reason, count],
  );

/** The numbers of notifications of a person by the actor and the reason. */
const counts = async (person: TestPerson) =>
  Object.fromEntries(
    (
      await app.sql<{ actor: string; reason: string; count: number }>(
        `SELECT actor_id AS actor, reason, count(*)::int FROM notifications WHERE identity_id = $1 GROUP BY 1, 2`,
        [person.id],
      )
    ).map(({ actor, reason, count }) => [`${actor} ${reason}`, count]),
  );

it('an actor pushes out only older notifications of the same actor and the same kind', async () => {
  const person = await aPerson(app);
  const issue = await createIssue(person);
  await fill(person, ann, issue, 'watching', 500);
  await fill(person, busy, issue, 'assigned', 3);
  await fill(person, busy, issue, 'watching', 500);
  await comment(busy, issue, 'One more');
  await comment(busy, issue, 'And another');
  await untilNotified(app);
  expect(await counts(person)).toEqual({
    [`${ann.id} watching`]: 500,
    [`${busy.id} assigned`]: 3,
    [`${busy.id} watching`]: 500,
  });
  const [newest] = await readNotifications(person);
  expect(newest?.type).toBe('issue.commented');
});

it('a person has at most 10,000, and at most 1,000 are counted', async () => {
  const person = await aPerson(app);
  const issue = await createIssue(person);
  await fill(person, ann, issue, 'watching', 10_000);
  await comment(busy, issue, 'The newest');
  await untilNotified(app);
  const [rows] = await app.sql(
    'SELECT count(*)::int, min(place)::int FROM notifications WHERE identity_id = $1',
    [person.id],
  );
  expect(rows).toEqual({ count: 10_000, min: 2 });
  const { headers, body } = await person.get(`${notificationsPath}?limit=1`).expect(200);
  expect(headers['x-unread-count']).toBe('1000');
  const mark = async (state: string) =>
    (await person.post(`${notificationsPath}${state}/`, { ids: [body[0].id] }).expect(200)).body.unread_count;
  expect([await mark('read'), await mark('unread')]).toEqual([1000, 1000]);
});

it('changes of issues with many watchers are joined, and delay neither mentions nor others', async () => {
  const [reporter, watcher, mentioned] = await Promise.all([aPerson(app), aPerson(app), aPerson(app)]);
  await mentioned.get('/api/v1/users/me/').expect(200);
  const issues = [await createIssue(reporter), await createIssue(reporter)];
  for (const issue of issues) {
    await watcher.put(issuePath(issue, 'watch/')).expect(200);
    await app.sql(
      `INSERT INTO issue_watchers (issue_id, user_id) SELECT $1, gen_random_uuid() FROM generate_series(1, 2500)`,
      [issue.id],
    );
  }
  const own = await createIssue(watcher);
  // No event is processed before this transaction ends.
  await app.database.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`SELECT pg_current_xact_id()::text`;
      for (const body of ['1', '2', '3']) for (const issue of issues) await comment(busy, issue, body);
      await comment(busy, issues[0] as Issue, `@${mentioned.username}`);
      await busy.patch(issuePath(issues[1] as Issue), { priority: 'HIGH' }).expect(200);
      await comment(ann, own, 'Not delayed');
    },
    { timeout: 240_000 },
  );
  await untilNotified(app);
  const shown = async (person: TestPerson) =>
    (await readNotifications(person)).map(({ reason, actor, changed, more_count }) => [
      reason,
      actor?.id,
      changed,
      more_count,
    ]);
  // The first of eight changes at once, and the last one for the seven others. Those come after what others have caused.
  expect(await shown(watcher)).toEqual([
    ['watching', busy.id, ['priority'], 6],
    ['watching', ann.id, [], 0],
    ['watching', busy.id, [], 0],
  ]);
  // A mention does not make a person watch an issue with so many watchers.
  expect(await shown(mentioned)).toEqual([['mentioned', busy.id, [], 0]]);
});
