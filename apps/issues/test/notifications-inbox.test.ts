import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { expectInvalidFields } from '@tessera/testing/problems';
import { type OpenedStream, openReady } from './support/event-stream.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { notificationsPath, readNotifications, untilNotified } from './support/notifications.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import './support/response-guard.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

type Mark = 'read' | 'unread' | 'done' | 'restore' | 'snooze';

const hour = 3_600_000;
const after = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

let app: TestApp;
let second: TestApp;
let bob: TestPerson;
const streams: OpenedStream[] = [];
beforeAll(async () => {
  app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  second = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' }, app);
  bob = await aKnownPerson();
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  for (const one of [second, app]) await one.close();
});

async function aKnownPerson(): Promise<TestPerson> {
  const person = await aPerson(app);
  await person.get('/api/v1/users/me/').expect(200);
  return person;
}

const comment = (issue: Issue, body: string) => bob.post(issuePath(issue, 'comments/'), { body }).expect(201);

/** A person with a number of unread notifications, and their ids from the newest. */
async function aReader(count: number): Promise<{ person: TestPerson; issue: Issue; ids: number[] }> {
  const person = await aKnownPerson();
  const issue = await createIssue(person);
  for (let number = 0; number < count; number += 1) await comment(issue, `Number ${number}`);
  await untilNotified(app);
  return { person, issue, ids: (await readNotifications(person)).map(({ id }) => id) };
}

const mark = async (by: TestPerson, as: Mark, ids: readonly number[], until?: string): Promise<number> =>
  (await by.post(`${notificationsPath}${as}/`, { ids, until }).expect(200)).body.unread_count;

const idsIn = async (person: TestPerson, query: string) =>
  (await readNotifications(person, query)).map(({ id }) => id);

const retentionDays = (person: TestPerson) =>
  app.sql(
    `SELECT id::int, round(extract(epoch FROM expires_at - now()) / 86400)::int AS days
       FROM notifications WHERE identity_id = $1 ORDER BY id DESC`,
    [person.id],
  );

describe('a notification that is done', () => {
  it('leaves the inbox and the count, and is back as it was', async () => {
    const { person, ids } = await aReader(3);
    const [newest = 0, middle = 0, oldest = 0] = ids;
    expect(await mark(person, 'read', [middle])).toBe(2);
    expect(await mark(person, 'done', [newest, middle])).toBe(1);
    expect(await mark(person, 'done', [newest, middle])).toBe(1);
    expect(await idsIn(person, '?state=inbox')).toEqual([oldest]);
    expect(await idsIn(person, '?unread=true')).toEqual([oldest]);
    expect(await idsIn(person, '?state=done')).toEqual([newest, middle]);
    expect(await idsIn(person, '')).toEqual(ids);
    // It stays out of the inbox whether it is read or not.
    expect(await mark(person, 'unread', [middle])).toBe(1);
    expect(await idsIn(person, '?state=done')).toEqual([newest, middle]);
    expect(await retentionDays(person)).toEqual([
      { id: newest, days: 30 },
      { id: middle, days: 30 },
      { id: oldest, days: 90 },
    ]);
    expect(await mark(person, 'restore', [newest, middle])).toBe(2);
    expect(await mark(person, 'restore', [newest, middle])).toBe(2);
    expect(await idsIn(person, '?state=inbox')).toEqual(ids);
    expect(await idsIn(person, '?unread=true')).toEqual([newest, oldest]);
    expect(await retentionDays(person)).toMatchObject(Array(3).fill({ days: 90 }));
  });

  it('is that of its person alone', async () => {
    const { person, ids } = await aReader(1);
    const other = await aKnownPerson();
    for (const as of ['done', 'restore', 'snooze'] as const)
      expect(await mark(other, as, ids, after(hour))).toBe(0);
    expect(await idsIn(person, '?state=inbox')).toEqual(ids);
  });
});

describe('a notification that is snoozed', () => {
  it('is hidden, and then unread and before the others, also after new ones', async () => {
    const { person, issue, ids } = await aReader(3);
    const [newest = 0, middle = 0, oldest = 0] = ids;
    await mark(person, 'read', [oldest]);
    expect(await mark(person, 'snooze', [oldest, middle], after(hour))).toBe(1);
    expect(await idsIn(person, '?state=inbox')).toEqual([newest]);
    const snoozed = await readNotifications(person, '?state=snoozed');
    expect(snoozed.map(({ id, snoozed_until }) => [id, snoozed_until !== null])).toEqual([
      [middle, true],
      [oldest, true],
    ]);
    await comment(issue, 'One more');
    await untilNotified(app);
    const [added = 0] = await idsIn(person, '?limit=1');
    // The time comes for one of them.
    await app.sql(`UPDATE notifications SET snoozed_until = now() - interval '1 s' WHERE id = $1`, [oldest]);
    while ((await idsIn(person, '?state=snoozed')).length === 2) {
      app.dependencies.eventSignal.written();
      await pause(20);
    }
    expect(await idsIn(person, '?state=inbox')).toEqual([oldest, added, newest]);
    expect(await idsIn(person, '?unread=true')).toEqual([oldest, added, newest]);
    expect(await mark(person, 'restore', [middle])).toBe(4);
    expect(await idsIn(person, '?state=inbox')).toEqual([oldest, added, newest, middle]);
    // `up_to` follows the list, not the ids.
    const { body } = await person.post(`${notificationsPath}read/`, { up_to: newest }).expect(200);
    expect(body).toEqual({ unread_count: 2 });
    expect(await idsIn(person, '?unread=true')).toEqual([oldest, added]);
    // New ones come before it.
    await comment(issue, 'Another');
    await untilNotified(app);
    expect((await idsIn(person, '')).indexOf(oldest)).toBe(1);
  });

  it('is done, restored or snoozed again by the last request, and kept until after its time', async () => {
    const { person, ids } = await aReader(1);
    await mark(person, 'snooze', ids, after(200 * 24 * hour));
    expect(await retentionDays(person)).toMatchObject([{ days: 230 }]);
    expect(await mark(person, 'done', ids)).toBe(0);
    expect(await mark(person, 'snooze', ids, after(hour))).toBe(0);
    expect(await readNotifications(person)).toMatchObject([
      { done_at: expect.any(String), snoozed_until: null },
    ]);
    expect(await mark(person, 'restore', ids)).toBe(1);
    expect(await mark(person, 'snooze', ids, '2020-01-01T00:00:00+02:00')).toBe(0);
    while ((await idsIn(person, '?state=inbox')).length === 0) {
      app.dependencies.eventSignal.written();
      await pause(20);
    }
  });

  it('needs a time within a year, and ids', async () => {
    const send = (body: object) => bob.post(`${notificationsPath}snooze/`, body);
    for (const until of [
      undefined,
      'tomorrow',
      '2026-11-30',
      '2026-02-30T08:00:00Z',
      after(370 * 24 * hour),
      5,
    ])
      expectInvalidFields(await send({ ids: [1], until }), ['until']);
    const { errors } = (await send({ ids: [1], until: 'tomorrow' })).body;
    expect(errors).toMatchObject([{ message: expect.stringMatching(/^must be a time/) }]);
    for (const as of ['done', 'restore', 'snooze'] as const)
      for (const ids of [[], undefined, Array(101).fill(1)])
        expectInvalidFields(await bob.post(`${notificationsPath}${as}/`, { ids, until: after(hour) }), [
          'ids',
        ]);
    expectInvalidFields(await bob.get(`${notificationsPath}?state=other`), ['state']);
  });
});

describe('a stream with notifications', () => {
  const open = async (person: TestPerson, of: TestApp, query = '?notifications=true') => {
    const stream = await openReady(of.url, person, { query });
    streams.push(stream);
    return stream;
  };
  const countsOf = ({ events }: OpenedStream) =>
    events.filter(({ type }) => type === 'notifications').map(({ data }) => data.unread_count);
  const untilCount = async (stream: OpenedStream, count: number) => {
    while (countsOf(stream).at(-1) !== count) await pause(20);
  };

  it('says the number of unread ones at the start and after each change, in every process', async () => {
    const { person, issue, ids } = await aReader(2);
    const [here, there, without] = [
      await open(person, app),
      await open(person, second),
      await open(person, app, ''),
    ];
    for (const stream of [here, there]) await untilCount(stream, 2);
    await comment(issue, 'One more');
    for (const stream of [here, there]) await untilCount(stream, 3);
    await mark(person, 'done', ids);
    for (const stream of [here, there]) await untilCount(stream, 1);
    const later = await open(person, app);
    await untilCount(later, 1);
    // A position that is no event stays with the client.
    expect(later.events.find(({ type }) => type === 'notifications')?.id).toBe(later.lastId());
    expect(countsOf(without)).toEqual([]);
    await bob.post(issuePath(issue, 'comments/'), { body: 'Of another issue' }).expect(201);
    await untilCount(here, 2);
  });

  it('says the number without the issues that the person no longer sees', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const { person } = await aReader(1);
    const project = (await staff.post('/api/v1/projects/', { key: 'SEEN', name: 'Seen' }).expect(201)).body;
    const membership = `/api/v1/projects/${project.key}/members/${person.id}/`;
    await staff.put(membership, { role: 'member' }).expect(201);
    const issue = await createIssue(staff, { project: project.key, assignee_id: person.id });
    await untilNotified(app);
    // This process has made the changes, so it knows them at once.
    const stream = await open(person, app);
    await untilCount(stream, 2);
    await staff.delete(membership).expect(204);
    await untilCount(stream, 1);
    expect((await readNotifications(person)).filter((one) => one.issue.id === issue.id)).toEqual([]);
  });

  it('says that a snooze has ended', async () => {
    const { person, ids } = await aReader(1);
    await mark(person, 'snooze', ids, after(hour));
    const stream = await open(person, second, '?notifications=true&types=issue.created');
    await untilCount(stream, 0);
    await app.sql('UPDATE notifications SET snoozed_until = now() WHERE identity_id = $1', [person.id]);
    await untilCount(stream, 1);
  });
});
