import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningRedmine, startRedmine } from '@tessera/trackers/redmine';
import axios from 'axios';
import { issueMarker, markedComment } from '../src/trackers/tracker-text.ts';
import { type FaultyProxy, startFaultyProxy } from './support/faulty-proxy.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { SyncModel } from './support/sync-model.ts';
import { describePoll } from './support/sync-poll.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

/** `pnpm soak:sync` sets larger values. */
const steps = Number(process.env.SYNC_MODEL_STEPS ?? 10);
const modelled = Number(process.env.SYNC_MODEL_ISSUES ?? 2);
const seed = Number(process.env.SYNC_MODEL_SEED ?? 14);
const settleMs = 300_000;
/** Longer than each suspension of Redmine and each delay of the proxy. On a busy machine, some requests take longer. */
const settleSeconds = 8;
/** Shorter than the lifetime of the tests' tokens. */
const tokenLifetimeMs = 10 * 60_000;
const policy = process.env.SYNC_MODEL_POLICY ?? 'local';

const count = Number(process.env.SYNC_SOAK_ISSUES ?? 10);
const batch = 10;
// The tracker is killed when it has half of the issues.
const half = count / 2;
const commentEvery = 5;

let redmine: RunningRedmine;
beforeAll(async () => {
  redmine = await startRedmine({ clockOffsetSeconds: -900 });
});
afterAll(() => redmine.stop(), 300_000);

// The background workers of two processes run every sync.
describe('many issues and a real Redmine that is killed in the middle', () => {
  let tracker: TestTracker;
  let store: TestApp;
  let services: [IssuesService, IssuesService];
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject('manager', redmine.server);
    store = await startTestApp();
    ann = await aPerson(store);
    const environment = trackerEnvironment(tracker, {
      SYNC_WORKERS: '2',
      SYNC_AUTO: 'all',
      SYNC_POLL_MS: '300',
      SYNC_RETRY_SECONDS: '1',
      SYNC_TIMEOUT_MS: '20000',
    });
    services = await Promise.all([
      startIssuesService(store, environment),
      startIssuesService(store, environment),
    ]);
  });
  afterAll(async () => {
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
    await store.close();
  });

  const post = async (path: string, body: object, index: number): Promise<string> => {
    const service = services[index % 2 === 0 ? 0 : 1];
    return (await ann.on(service).post(path, body).expect(201)).body.id;
  };
  const createIssues = async (): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) {
      const indexes = Array.from({ length: batch }, (_, index) => ids.length + index);
      ids.push(
        ...(await Promise.all(indexes.map((index) => post(issuesPath, { title: `Issue ${index}` }, index)))),
      );
    }
    return ids;
  };
  const countOf = async (condition: string): Promise<number> => {
    const [row] = await store.sql(`SELECT count(*)::int AS count FROM tracker_links WHERE ${condition}`);
    return row?.count ?? 0;
  };
  const until = async (condition: string, wanted: number): Promise<void> => {
    while ((await countOf(condition)) < wanted) await pause(250);
  };

  it('are all created once in Redmine with every comment once', async () => {
    const ids = await createIssues();
    await until('remote_id IS NOT NULL', half);
    await redmine.down();
    const commented = ids.filter((_, index) => index % commentEvery === 0);
    for (const [index, id] of commented.entries())
      await post(`${issuesPath}${id}/comments/`, { body: `About ${id}` }, index);
    await until('last_error IS NOT NULL', 1);
    await redmine.up();
    const hasAll = `(SELECT count(*) FROM tracker_comments WHERE remote_id IS NOT NULL) = ${commented.length}`;
    await until(
      `last_error IS NULL AND last_synced_at IS NOT NULL AND claim_id IS NULL AND ${hasAll}`,
      count,
    );

    const remotes = await tracker.issues();
    const found = ids.map((id) => remotes.filter(({ text }) => text.includes(issueMarker(id))));
    expect(found.map(({ length }) => length)).toEqual(ids.map(() => 1));
    expect(remotes).toHaveLength(count);
    expect(found.flat().map(({ title }) => title)).toEqual(ids.map((_, index) => `Issue ${index}`));
    const comments = await store.sql('SELECT id, issue_id FROM comments ORDER BY issue_id');
    const sent = found.map((remote) =>
      remote.flatMap((issue) => issue.comments.map(({ body }) => markedComment(body))),
    );
    expect(sent).toEqual(
      ids.map((id) =>
        comments.filter(({ issue_id: issueId }) => issueId === id).map((comment) => comment.id),
      ),
    );
    expect(comments).toHaveLength(commented.length);
  }, 600_000);
});

// No other test creates notes in this Redmine at the same time.
describe('a note with the number of a deleted note', () => {
  it('is copied like any other, in both directions', async () => {
    const { url, admin } = redmine.server;
    const http = axios.create({ baseURL: url, headers: { 'X-Redmine-API-Key': admin.key }, proxy: false });
    const tracker = await startRedmineProject('manager', redmine.server);
    const app = await startTestApp(trackerEnvironment(tracker));
    const ann = await aPerson(app);
    const aLinkedIssue = async () => {
      const issue = await syncIssue(ann, await createIssue(ann));
      return { issue, remoteId: issue.external?.id ?? '' };
    };
    const noteOf = async (remoteId: string): Promise<number> =>
      (await http.get(`/issues/${remoteId}.json?include=journals`)).data.issue.journals.at(-1).id;
    const deleteNote = async (remoteId: string): Promise<number> => {
      const id = await noteOf(remoteId);
      await http.put(`/journals/${id}.json`, { journal: { notes: '' } });
      // The creation times of the two notes differ.
      await pause(1_100);
      return id;
    };
    const [own, other] = [await aLinkedIssue(), await aLinkedIssue()];

    await ann.post(issuePath(own.issue, 'comments/'), { body: 'Sent' }).expect(201);
    await syncIssue(ann, own.issue);
    const sent = await deleteNote(own.remoteId);
    await ann.post(issuePath(other.issue, 'comments/'), { body: 'Sent, too' }).expect(201);
    await syncIssue(ann, other.issue);
    expect(await noteOf(other.remoteId)).toBe(sent);

    await tracker.comment(own.remoteId, 'First');
    expect((await syncIssue(ann, own.issue)).comments).toMatchObject([{ body: 'Sent' }, { body: 'First' }]);
    const received = await deleteNote(own.remoteId);
    await tracker.comment(own.remoteId, 'Second');
    expect(await noteOf(own.remoteId)).toBe(received);
    const { comments } = await syncIssue(ann, own.issue);
    expect(comments.map(({ body }) => body)).toEqual(['Sent', 'First', 'Second']);
    await app.close();
  });
});

// The responses of Redmine do not contain the time.
describe('changes in a Redmine whose clock is 15 minutes behind', () => {
  describePoll(() => startRedmineProject('manager', redmine.server));
});

// Both replicas reach Redmine through a proxy with faults. Redmine's clock is behind the replicas' clocks, and Redmine
// interprets dates in the time zone of each account.
describe('random edits on both sides, with a real Redmine and faults', () => {
  let tracker: TestTracker;
  let store: TestApp;
  let proxy: FaultyProxy;
  let model: SyncModel;
  let suspended: Promise<void> = Promise.resolve();
  let restarted: Promise<void> = Promise.resolve();
  const services: IssuesService[] = [];
  beforeAll(async () => {
    const { url, admin, manager } = redmine.server;
    const http = axios.create({ baseURL: url, headers: { 'X-Redmine-API-Key': admin.key }, proxy: false });
    for (const [{ id }, time_zone] of [
      [manager, 'Pacific Time (US & Canada)'],
      [admin, 'Auckland'],
    ] as const)
      await http.put(`/users/${id}.json`, { user: {}, pref: { time_zone } });
    tracker = await startRedmineProject('manager', redmine.server);
    store = await startTestApp();
    proxy = await startFaultyProxy(url, (request) => model.faultOf(request));
    const environment = trackerEnvironment(
      { ...tracker, url: proxy.url },
      {
        SYNC_AUTO: 'all',
        SYNC_CONFLICT_POLICY: policy,
        SYNC_WORKERS: '2',
        SYNC_POLL_MS: '300',
        SYNC_POLL_REMOTE_SECONDS: '1',
        SYNC_RETRY_SECONDS: '1',
        SYNC_TIMEOUT_MS: '15000',
        TRACKER_DEADLINE_MS: '5000',
        TRACKER_SETTLE_SECONDS: String(settleSeconds),
      },
    );
    const start = () => startIssuesService(store, environment);
    let [person, signedInAt] = [await aPerson(store, { is_staff: true }), Date.now()];
    model = new SyncModel(
      {
        replicas: () => services,
        restart: (index) => {
          restarted = restarted.then(async () => {
            services[index]?.kill();
            await services[index]?.ended;
            services[index] = await start();
          });
        },
        suspendRedmine: (ms) => {
          suspended = suspended.then(() => redmine.suspend(ms));
        },
        redmine: async (method, path, body) => (await http.request({ method, url: path, data: body })).data,
        remoteIds: async () =>
          new Map(
            (
              await store.sql('SELECT issue_id, remote_id FROM tracker_links WHERE remote_id IS NOT NULL')
            ).map(({ issue_id: id, remote_id: remoteId }) => [id, remoteId]),
          ),
        unsettled: async () => {
          const [row] = await store.sql(
            `SELECT count(*)::int AS count FROM issues LEFT JOIN tracker_links ON issue_id = id
              WHERE last_synced_at IS NULL OR next_attempt_at IS NOT NULL OR claim_id IS NOT NULL OR last_error IS NOT NULL`,
          );
          return row?.count;
        },
        person: async () => {
          if (Date.now() - signedInAt > tokenLifetimeMs) {
            [person, signedInAt] = [await aPerson(store, { is_staff: true }), Date.now()];
          }
          return person;
        },
        lateCreations: () => proxy.slowPosts(settleSeconds * 1000),
        accountId: manager.id,
        project: tracker.project,
      },
      seed,
    );
    services.push(...(await Promise.all([start(), start()])));
  });
  afterAll(async () => {
    await Promise.all([suspended, restarted]);
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
    await Promise.all([store.close(), proxy.close()]);
  });

  it(`lose and duplicate nothing, and nothing is stuck (${steps} steps, seed ${seed})`, async () => {
    await model.createIssues(modelled);
    await model.run(steps);
    await Promise.all([suspended, restarted]);
    const unsettled = await model.settle(settleMs);
    const found = { unsettled, problems: await model.problems(), lost: await model.lostHere() };
    expect(found).toEqual({ unsettled: 0, problems: [], lost: [] });
    if (process.env.SYNC_MODEL_STEPS !== undefined)
      process.stdout.write(`${JSON.stringify(model.tally)}, ${proxy.count()} requests\n`);
  }, 3_600_000);
});
