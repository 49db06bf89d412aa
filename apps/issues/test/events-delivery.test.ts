import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, type IssueEvent, issueEventFeedSchema } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import pg from 'pg';
import { collectEvents } from './support/event-stream.ts';
import { insertHistory } from './support/history.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// `EVENT_WRITES=10000` for a long run.
const writes = Number(process.env.EVENT_WRITES ?? 400);
const unlimited = { RATE_LIMIT_WRITES_PER_MINUTE: '0', RATE_LIMIT_READS_PER_MINUTE: '0' };

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp(unlimited);
  ann = await aPerson(app);
});
afterAll(() => app.close());

/** Reads the feed in small pages, from a cursor until `isDone`. */
async function readWhile(from: string, isRunning: () => boolean): Promise<IssueEvent[]> {
  const events: IssueEvent[] = [];
  for (let [after, wasRunning] = [from, true]; ; ) {
    const isLast = !wasRunning;
    wasRunning = isRunning();
    const { body } = await ann.get(`/api/v1/events/?limit=20&after=${after}`).expect(200);
    const page = issueEventFeedSchema.parse(body);
    expect(page.reset).toBe(false);
    events.push(...page.events);
    after = page.next;
    if (page.events.length === 0 && isLast) return events;
    if (page.events.length === 0) await pause(5);
  }
}

const endOfFeed = async (): Promise<string> =>
  (await ann.get('/api/v1/events/?after=now').expect(200)).body.next;
const connect = async () => {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  return client;
};

/** The writes of a service: changes of shared issues, with one new issue in four. */
async function write(person: TestPerson, issues: Issue[], count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const issue = issues[number % issues.length] as Issue;
    const sent =
      number % 4 === 0
        ? person.post(issuesPath, { title: `Issue ${number}` })
        : number % 4 === 1
          ? person.post(issuePath(issue, 'comments/'), { body: 'x' })
          : person.patch(issuePath(issue), { title: `${number} of ${Math.random()}` });
    // The requests of the killed process fail.
    await sent.then(undefined, () => undefined);
  }
}

describe('parallel writers in three processes, one of which is killed', () => {
  let processes: IssuesService[];
  beforeAll(async () => {
    processes = await Promise.all([startIssuesService(app, unlimited), startIssuesService(app, unlimited)]);
  });
  afterAll(async () => {
    for (const one of processes) one.kill();
    await Promise.all(processes.map(({ ended }) => ended));
  });

  it('deliver each committed event once, in the order of the versions, past a slow transaction', async () => {
    const issues = [await createIssue(ann), await createIssue(ann), await createIssue(ann)];
    await untilDeliverable(app);
    const from = await endOfFeed();
    const slow = await connect();
    const rolledBack = await connect();
    for (const client of [slow, rolledBack]) {
      await client.query('BEGIN');
      await client.query(insertHistory, [(await createIssue(ann)).id, ann.id, 1]);
    }
    let isRunning = true;
    const readers = [readWhile(from, () => isRunning), readWhile(from, () => isRunning)];
    const [killed] = processes;
    let last: number | undefined;
    const urls = [app.url, ...processes.map(({ url }) => url)];
    const streams = [urls, urls.toReversed()].map((order) =>
      collectEvents(order, ann, { from, last: () => last }),
    );
    const share = Math.ceil(writes / 6);
    const people = [ann, ...processes.map((one) => ann.on(one))];
    const writers = people.flatMap((person) => [write(person, issues, share), write(person, issues, share)]);
    const ends = Promise.all(writers);
    setTimeout(() => killed?.kill(), 200);
    setTimeout(() => void slow.query('COMMIT'), 600);
    setTimeout(() => void rolledBack.query('ROLLBACK'), 700);
    await ends;
    await pause(800);
    await untilDeliverable(app);
    isRunning = false;
    const [events = [], again] = await Promise.all(readers);
    await Promise.all([slow.end(), rolledBack.end()]);

    expect(again).toEqual(events);
    const stored = await app.sql<{ id: number }>(
      'SELECT id::int FROM events WHERE id >= $1 ORDER BY tx, id',
      [events[0]?.id],
    );
    expect(events.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    last = events.at(-1)?.id;
    for (const streamed of await Promise.all(streams))
      expect(streamed.map(({ data }) => data)).toEqual(events);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(events.length).toBeGreaterThan(writes / 3);

    for (const issue of issues) {
      const ids = events.filter(({ data }) => data.issue_id === issue.id).map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      const versions = events.flatMap(({ type, data }) =>
        type === 'issue.updated' && data.issue_id === issue.id ? [data.version] : [],
      );
      const [row] = await app.sql<{ version: number }>('SELECT version FROM issues WHERE id = $1', [
        issue.id,
      ]);
      expect(versions).toEqual(Array.from({ length: (row?.version ?? 0) - 1 }, (_, index) => index + 2));
    }
    const [history] = await app.sql<{ count: number }>(
      `SELECT count(*)::int FROM activity WHERE kind IN ('created', 'comment_added', 'updated')`,
    );
    const [all] = await app.sql<{ count: number }>('SELECT count(*)::int FROM events WHERE tx > 0');
    expect(all).toEqual(history);
  });
});

describe('a transaction that got its id before an earlier change of the same issue', () => {
  it('has its event after that change, and a page never contains only the later one', async () => {
    const issue = await createIssue(ann, { title: 'One' });
    await untilDeliverable(app);
    const from = await endOfFeed();
    const between = await connect();
    const { database, dependencies } = app;
    const by = { actorId: ann.id, requestId: 'late' };
    await database.$transaction(
      async (late) => {
        await late.$queryRaw`SELECT pg_current_xact_id()::text`;
        await between.query('BEGIN');
        await between.query('SELECT pg_current_xact_id()');
        await ann.patch(issuePath(issue), { title: 'Two' }).expect(200);
        const decide = async () => ({ change: { fields: { title: 'Three' } }, result: true });
        expect(await dependencies.writer.changeLocked(issue.id, by, decide, late)).toBe(true);
      },
      { timeout: 60_000 },
    );
    // The transaction in between holds back the first change, so it must hold back the second one.
    expect(await readWhile(from, () => false)).toEqual([]);
    const lag = await app.dependencies.events.lagSeconds();
    expect(lag).toBeGreaterThan(0);
    await between.query('COMMIT');
    await untilDeliverable(app);
    const versions = (await readWhile(from, () => false)).map(
      ({ data }) => 'version' in data && data.version,
    );
    expect(versions).toEqual([2, 3]);
    expect(await app.dependencies.events.lagSeconds()).toBe(0);
    await between.end();
  });
});
