import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueSchema } from '@tessera/contracts';
import type { Response } from 'supertest';
import { canonicalText, issueMarker } from '../src/trackers/tracker-text.ts';
import { FakeIdentity } from './support/fake-identity.ts';
import { startHttpProxy } from './support/http-proxy.ts';
import { issuePath, issuesPath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { startSteppedPostgres } from './support/stepped-postgres.ts';
import { Steps } from './support/steps.ts';
import { createTestDatabase } from './support/test-database.ts';
import type { TestTracker, TrackerIssue } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

/** A sync, and the step before which its process was killed, or the status of its response. */
interface Death {
  issue: Issue;
  before: string | number;
}

const attemptsMax = 200;
const issuesPerProcess = 8;
// One query in so many. `SYNC_CRASH_QUERIES=1` for all.
const queriesPerKill = Number(process.env.SYNC_CRASH_QUERIES ?? 10);
// A request to the tracker, or the beginning or end of a transaction. The others are queries.
const isDecisive = (step: string) => /^([A-Z]+ \/|BEGIN|COMMIT|ROLLBACK)/.test(step);

// A process is killed before each request to the tracker, around each transaction, and before some of the other queries.
describe('a process that is killed while it syncs with a real Redmine', () => {
  let tracker: TestTracker;
  let identity: FakeIdentity;
  let databaseUrl: string;
  let ann: TestPerson;
  let survivor: IssuesService;
  beforeAll(async () => {
    [tracker, identity, databaseUrl] = await Promise.all([
      startRedmineProject(),
      FakeIdentity.start(),
      createTestDatabase(),
    ]);
    survivor = await startService(databaseUrl, tracker.url);
    ann = await aPerson({ http: survivor.http, identity }, { is_staff: true });
  });
  afterAll(async () => {
    expect(await survivor.stop()).toBe(0);
    await identity.stop();
    await tracker.close();
  });

  // Background workers are disabled, so the test requests every sync.
  const startService = (database: string, trackerUrl: string) =>
    startIssuesService(
      { databaseUrl: database, identity },
      trackerEnvironment({ ...tracker, url: trackerUrl }, { TRACKER_DEADLINE_MS: '8000' }),
    );
  const send = (service: IssuesService, method: 'get' | 'post' | 'put', path: string, body?: object) =>
    ann.on(service)[method](path, body);
  const create = async (body: object): Promise<Issue> =>
    issueSchema.parse((await send(survivor, 'post', issuesPath, body).expect(201)).body);
  const comment = (issue: Issue, body: string) =>
    send(survivor, 'post', issuePath(issue, 'comments/'), { body }).expect(201);

  const startVictim = async () => {
    const steps = new Steps();
    const database = await startSteppedPostgres(databaseUrl, steps);
    const trackerProxy = await startHttpProxy(tracker.url, steps);
    const url = new URL(databaseUrl);
    url.port = String(database.port);
    const service = await startService(url.href, `http://127.0.0.1:${trackerProxy.port}`);
    // Sends the requests that a process sends only once, so that they do not count as steps.
    await send(service, 'get', '/api/v1/integrations/').expect(200);
    return {
      steps,
      /** Syncs an issue until the response, or until the process is stopped before the step. */
      syncUntil: async (step: string | undefined, issue: Issue): Promise<Death> => {
        const stopped = steps.stopBefore(step).then(() => undefined);
        const answered = send(service, 'post', issuePath(issue, 'sync/')).then(({ status }) => status);
        // A stopped request has no response when the process is killed.
        answered.catch(() => {});
        return { issue, before: (await Promise.race([stopped, answered])) ?? `${step}` };
      },
      /** Kills the process, which ends all of its stopped syncs. */
      close: async () => {
        service.kill();
        await Promise.all([service.ended, database.close(), trackerProxy.close()]);
      },
    };
  };

  // Another process takes over: immediately, or after the lease of the killed process has expired.
  const syncAfterwards = async (issue: Issue): Promise<Issue> => {
    let answer: Response | undefined;
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      answer = await send(survivor, 'post', issuePath(issue, 'sync/'));
      if (answer.status === 200) return issueSchema.parse(answer.body);
      // The lease has not expired, the outcome of a creation is unknown, or the tracker is slow.
      if (answer.body.code !== 'sync_in_progress' && answer.status < 502) break;
      await pause(1_000);
    }
    throw new Error(`no process took over the sync: ${answer?.text}`);
  };

  // The first sync is not interrupted and records the steps. Steps are identified by name, because the order of
  // concurrent steps varies. Each killed process syncs several issues, each stopped before a different step; the next
  // process starts meanwhile.
  const dieEverywhere = async (prepare: () => Promise<Issue>): Promise<Death[]> => {
    const deaths: Death[] = [];
    const afterwards: Promise<Issue>[] = [];
    const known = new Set<string>();
    let queries = 0;
    const isTried = (step: string) => isDecisive(step) || queries++ % queriesPerKill === 0;
    const pending: (string | undefined)[] = [undefined];
    // Steps that only the first sync of a process performs.
    const pendingFirst: string[] = [];
    const prepareSome = () =>
      Promise.all(Array.from({ length: pending.length > 0 ? issuesPerProcess : 1 }, prepare));
    let next = startVictim();
    try {
      while (pending.length + pendingFirst.length > 0) {
        const [victim, issues] = await Promise.all([next, prepareSome()]);
        next = startVictim();
        for (const [index, issue] of issues.entries()) {
          const step = (index === 0 ? pendingFirst.shift() : undefined) ?? pending.shift();
          const death = await victim.syncUntil(step, issue);
          deaths.push(death);
          for (const taken of victim.steps.taken) {
            if (!known.has(taken) && isTried(taken)) pending.push(taken);
            known.add(taken);
          }
          // The tracker failed, so the step is repeated.
          if (typeof death.before === 'number' && death.before !== 200) pending.push(step);
          else if (death.before === 200 && step !== undefined && index > 0) pendingFirst.push(step);
          if (pending.length === 0) break;
        }
        await victim.close();
        for (const { issue } of deaths.slice(afterwards.length)) afterwards.push(syncAfterwards(issue));
        // Awaited at the end.
        for (const afterward of afterwards) afterward.catch(() => {});
      }
    } finally {
      await (await next).close();
    }
    await Promise.all(afterwards);
    return deaths;
  };

  const describeSides = async ({ issue, before }: Death, remotes: TrackerIssue[]) => {
    const here = issueSchema.parse((await send(survivor, 'get', issuePath(issue)).expect(200)).body);
    const again = await syncAfterwards(issue);
    const there = remotes.filter(({ text }) => text.includes(issueMarker(issue.id)));
    return {
      before,
      here: {
        title: here.title,
        description: here.description,
        status: here.status,
        comments: here.comments.map(({ body }) => body).sort(),
        commentsCount: here.comments_count,
        state: here.sync.state,
        conflicts: here.sync.conflicts,
      },
      there: there.map(({ title, text, state, comments }) => ({
        title,
        text: canonicalText(text),
        state,
        comments: comments.map(({ body }) => canonicalText(body).split('\n').at(-1)).sort(),
      })),
      again: { ...again.sync.last_result, isSameVersion: again.version === here.version },
    };
  };

  const nothingMoves = {
    created: false,
    pushed: [],
    pulled: [],
    comments_pushed: 0,
    comments_pulled: 0,
    isSameVersion: true,
  };
  const expectPutRight = async (deaths: Death[], wanted: object) => {
    const remotes = await tracker.issues();
    const found = [];
    for (const death of deaths) found.push(await describeSides(death, remotes));
    expect(found).toEqual(deaths.map(({ before }) => ({ ...wanted, before, again: nothingMoves })));
  };
  const stepsOf = (deaths: Death[]) => deaths.map(({ before }) => before);

  it('in a first sync: the next sync completes it, with one issue in the tracker and every text once', async () => {
    const deaths = await dieEverywhere(async () => {
      const issue = await create({ title: 'A leak', description: 'Water\nin the cellar.' });
      await comment(issue, 'It is warm.');
      await send(survivor, 'post', issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
      return issue;
    });
    expect(stepsOf(deaths)).toEqual(
      expect.arrayContaining(['POST /issues.json', 'PUT /issues/N.json', 'BEGIN', 'COMMIT', 200]),
    );
    const text = 'Water\nin the cellar.';
    await expectPutRight(deaths, {
      here: {
        title: 'A leak',
        description: text,
        status: 'IN_PROGRESS',
        comments: ['It is warm.'],
        commentsCount: 1,
        state: 'synced',
        conflicts: [],
      },
      there: [{ title: 'A leak', text, state: 'In Progress', comments: ['It is warm.'] }],
    });
  }, 600_000);

  it('in a later sync: the next sync completes it, with no text lost or duplicated in either direction', async () => {
    const deaths = await dieEverywhere(async () => {
      const issue = await create({ title: 'Old', description: 'Old text' });
      const { external } = await syncAfterwards(issue);
      await send(survivor, 'put', issuePath(issue), { title: 'From here' }).expect(200);
      await tracker.edit(external?.id ?? '', { text: `From\r\nthere\r\n\r\n${issueMarker(issue.id)}` });
      await comment(issue, 'Comment from here');
      await tracker.comment(external?.id ?? '', 'Comment from there');
      return issue;
    });
    expect(stepsOf(deaths)).toEqual(expect.arrayContaining(['PUT /issues/N.json', 'BEGIN', 'COMMIT', 200]));
    const comments = ['Comment from here', 'Comment from there'];
    await expectPutRight(deaths, {
      here: {
        title: 'From here',
        description: 'From\nthere',
        status: 'OPEN',
        comments,
        commentsCount: 2,
        state: 'synced',
        conflicts: [],
      },
      there: [{ title: 'From here', text: 'From\nthere', state: 'New', comments }],
    });
  }, 600_000);
});
