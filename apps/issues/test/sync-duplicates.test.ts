import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { issueMarker } from '../src/trackers/tracker-text.ts';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

// Long enough for every request that is not held, also on a slow machine.
const times = { TRACKER_DEADLINE_MS: '4000', TRACKER_SETTLE_SECONDS: '0' };

let tracker: FakeTestTracker;
let app: TestApp;
let ann: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  tracker = await startFakeTracker('gitea');
  app = await startTestApp(trackerEnvironment(tracker, times));
  ann = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterEach(() => tracker.fake.clearFaults());
afterAll(async () => {
  await app.close();
  await tracker.close();
});

const marked = (issue: Issue) =>
  tracker.fake.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));
/** Holds a request beyond its timeout and the settle time. Returns a function that lets it take effect. */
function hold(path: RegExp): (hasTakenEffect: () => boolean) => Promise<void> {
  let resolve = () => {};
  const until = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  tracker.fake.fail({ kind: 'latency', until, on: { method: 'POST', path } });
  return async (hasTakenEffect) => {
    resolve();
    while (!hasTakenEffect()) await pause(10);
  };
}

describe('a request to create an issue that a proxy holds for too long', () => {
  it('leaves a duplicate, which later syncs report with both issues', async () => {
    const issue = await createIssue(ann, { title: 'Held', description: 'Text' });
    const release = hold(/\/issues$/);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 504, 'tracker_timeout');
    const { external } = await syncIssue(ann, issue);
    await release(() => marked(issue).length === 2);
    expect(marked(issue)).toHaveLength(2);
    const other = marked(issue).find(({ number }) => String(number) !== external?.id);
    const { sync } = await syncIssue(ann, issue);
    expect(sync).toMatchObject({
      state: 'synced',
      conflicts: [{ field: 'external', reason: 'duplicate_remote', local: external?.url, kept: 'local' }],
    });
    expect(sync.conflicts[0]?.remote).toMatch(new RegExp(`/${other?.number}$`));
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual(sync.conflicts);

    tracker.fake.deleteIssue(other?.number ?? 0);
    const path = issuePath(issue, `sync/conflicts/${sync.conflicts[0]?.id}/`);
    expectProblem(await staff.post(path, { keep: 'remote' }), 409, 'external_conflict');
    await staff.post(path, { keep: 'local' }).expect(200);
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual([]);
  });

  it('is found by the background, too', async () => {
    const workers = { SYNC_WORKERS: '1', SYNC_POLL_MS: '100' };
    const issue = await createIssue(ann, { title: 'Held, too' });
    const release = hold(/\/issues$/);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 504, 'tracker_timeout');
    await syncIssue(ann, issue);
    await release(() => marked(issue).length === 2);
    const background = await startTestApp(trackerEnvironment(tracker, { ...times, ...workers }), app);
    await app.sql(
      `UPDATE tracker_links SET last_synced_at = now() - interval '16 minutes' WHERE issue_id = $1`,
      [issue.id],
    );
    const { sync } = await eventually(
      () => getIssue(ann, issue),
      (seen) => seen.sync.conflicts.length > 0,
    );
    await background.close();
    expect(sync.conflicts).toMatchObject([{ reason: 'duplicate_remote' }]);
  });
});

it.each([422, 302, 400, 401, 403, 408, 409, 429])(
  'a request to create an issue that takes effect although the response is %i leaves no duplicate',
  async (status) => {
    const issue = await createIssue(ann);
    tracker.fake.fail({ kind: 'status_after', status, on: { method: 'POST', path: /\/issues$/ } });
    expect((await ann.post(issuePath(issue, 'sync/'))).body.retry_scheduled).toBeDefined();
    await app.sql('UPDATE tracker_states SET limited_until = NULL');
    const { external, sync } = await syncIssue(ann, issue);
    expect(marked(issue).map(({ number }) => String(number))).toEqual([external?.id]);
    expect(sync.conflicts).toEqual([]);
  },
);

it('a refused request to create an issue is completed by a poll that finds the remote issue', async () => {
  const background = await startTestApp(
    trackerEnvironment(tracker, {
      ...times,
      SYNC_AUTO: 'linked',
      SYNC_WORKERS: '1',
      SYNC_POLL_MS: '100',
      SYNC_POLL_REMOTE_SECONDS: '1',
    }),
    app,
  );
  // Polls begin once an issue was synced.
  await syncIssue(ann, await createIssue(ann));
  const issue = await createIssue(ann);
  tracker.fake.fail({ kind: 'status_after', status: 422, on: { method: 'POST', path: /\/issues$/ } });
  expectProblem(await ann.post(issuePath(issue, 'sync/')), 422, 'tracker_rejected');
  await eventually(
    () => getIssue(ann, issue),
    (seen) => seen.sync.state === 'synced',
  );
  await background.close();
  expect(marked(issue)).toHaveLength(1);
});

it('one of two attachments of a remote issue at the same time succeeds, and the other keeps its own', async () => {
  const second = await startTestApp(trackerEnvironment(tracker, times), app);
  for (let round = 0; round < 5; round += 1) {
    const issues = [await createIssue(ann), await createIssue(ann)];
    const before: (string | undefined)[] = [];
    for (const issue of issues) before.push((await syncIssue(ann, issue)).external?.id);
    const id = await tracker.create({ title: 'Wanted', text: '' });
    const [first, other] = await Promise.all(
      [app, second].map((replica, index) =>
        staff.on(replica).put(issuePath(issues[index] ?? { id: '' }, 'external/'), { id }),
      ),
    );
    const loser = first?.status === 200 ? 1 : 0;
    const [won, lost] = loser === 1 ? [first, other] : [other, first];
    expect(won?.body.external.id).toBe(id);
    expect(lost?.body).toMatchObject({ code: 'external_taken', issue_id: issues[1 - loser]?.id });
    expect((await getIssue(ann, issues[loser] ?? { id: '' })).external?.id).toBe(before[loser]);
  }
  await second.close();
});

it('imports a comment with a copied marker, but not a second copy of a sent comment', async () => {
  const issue = await createIssue(ann, { title: 'Commented' });
  const { external } = await syncIssue(ann, issue);
  await ann.post(issuePath(issue, 'comments/'), { body: 'Only\nonce' }).expect(201);
  const release = hold(/\/comments$/);
  expectProblem(await ann.post(issuePath(issue, 'sync/')), 504, 'tracker_timeout');
  await syncIssue(ann, issue);
  await release(() => marked(issue)[0]?.comments.length === 2);
  const [there] = marked(issue);
  expect(there?.comments).toHaveLength(2);
  await tracker.comment(external?.id ?? '', `I disagree. ${there?.comments[0]?.body}`);
  const synced = await syncIssue(ann, issue);
  expect(synced.comments.map(({ body }) => body)).toEqual([
    'Only\nonce',
    expect.stringMatching(/^I disagree\. /),
  ]);
  expect((await syncIssue(ann, issue)).comments_count).toBe(2);
});

describe('a marker that a user pastes into the remote issue of another issue', () => {
  it.each([
    ['at its end', (marker: string) => `Pasted\n\n${marker}`],
    ['within its text', (marker: string) => `${marker}\n\nPasted`],
  ])('%s is not adopted, and is reported', async (_place, textWith) => {
    const victim = await syncIssue(ann, await createIssue(ann, { title: 'Victim', description: 'Mine' }));
    const issue = await createIssue(ann, { title: 'Lost response' });
    await tracker.edit(victim.external?.id ?? '', { text: textWith(issueMarker(issue.id)) });
    tracker.fake.fail({ kind: 'reset_before', on: { method: 'POST', path: /\/issues$/ } });
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'tracker_unavailable');
    const synced = await syncIssue(ann, issue);
    expect(synced.external?.id).not.toBe(victim.external?.id);
    expect(synced.sync.conflicts).toMatchObject([
      {
        field: 'external',
        reason: 'marker_copied',
        local: synced.external?.url,
        remote: victim.external?.url,
      },
    ]);
    const remote = tracker.fake.issues().find(({ number }) => String(number) === victim.external?.id);
    expect(remote?.title).toBe('Victim');
    expect((await getIssue(ann, victim)).external).toEqual(victim.external);
  });
});

describe('comments that are changed or deleted before their sync ends', () => {
  const commentsOf = (issue: Issue) =>
    marked(issue).flatMap(({ comments }) => comments.map(({ body }) => body));
  const sent = () =>
    tracker.fake.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/comments'))
      .length;
  const add = async (issue: Issue, body: string) => {
    const { body: added } = await ann.post(issuePath(issue, 'comments/'), { body }).expect(201);
    return issuePath(issue, `comments/${added.id}/`);
  };

  it('are sent with their current text, or not at all', async () => {
    const issue = await createIssue(ann);
    await add(issue, 'First');
    const [changed, removed] = [await add(issue, 'Second'), await add(issue, 'Third')];
    tracker.fake.fail({ kind: 'latency', ms: 300, on: { method: 'POST', path: /\/comments$/ }, times: 1 });
    const before = sent();
    const running = syncIssue(ann, issue);
    while (sent() === before) await pause(10);
    await ann.patch(changed, { body: 'Changed' }).expect(200);
    await ann.delete(removed).expect(204);
    const { sync } = await running;
    expect(sync.last_result?.comments_pushed).toBe(2);
    expect(commentsOf(issue)).toEqual([expect.stringContaining('First'), expect.stringContaining('Changed')]);
  });

  it('are not copied back if the response to the sending was lost', async () => {
    const issue = await createIssue(ann);
    const [changed, removed] = [await add(issue, 'To change'), await add(issue, 'To delete')];
    for (const path of [changed, removed]) {
      tracker.fake.fail({ kind: 'reset_after', on: { method: 'POST', path: /\/comments$/ }, times: 1 });
      expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'tracker_unavailable');
      if (path === changed) await ann.patch(path, { body: 'Changed' }).expect(200);
      else await ann.delete(path).expect(204);
    }
    const synced = await syncIssue(ann, issue);
    expect(synced.comments.map(({ body }) => body)).toEqual(['Changed']);
    expect(synced.sync.last_result).toMatchObject({ comments_pulled: 0 });
    expect(commentsOf(issue)).toEqual([
      expect.stringContaining('To change'),
      expect.stringContaining('To delete'),
    ]);
  });
});
