import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { createIssue, getIssue, issueIn, issuePath } from './issues.ts';
import { aPerson, type TestPerson } from './people.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import type { TestTracker } from './test-tracker.ts';
import { trackerEnvironment } from './tracker-environment.ts';

const background = {
  SYNC_AUTO: 'linked',
  SYNC_WORKERS: '2',
  SYNC_POLL_MS: '100',
  SYNC_POLL_REMOTE_SECONDS: '1',
};

/** The tests of polling, which every tracker must pass: changes arrive without a webhook and without a sync request. */
export function describePoll(start: () => Promise<TestTracker>): void {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  let quiet: Issue;
  let quietSince: number;
  let proxy: FaultyProxy;
  let repeatsCreation = false;
  beforeAll(async () => {
    tracker = await start();
    proxy = await startFaultyProxy(tracker.url, ({ method, path }) =>
      repeatsCreation && method === 'POST' && /\/issues(\.json)?$/.test(path)
        ? { kind: 'double' }
        : undefined,
    );
    const { pathname } = new URL(tracker.url);
    const url = pathname === '/' ? proxy.url : `${proxy.url}${pathname}`;
    app = await startTestApp(trackerEnvironment({ ...tracker, url }, background));
    ann = await aPerson(app);
    ({ issue: quiet } = await aLinkedIssue('Quiet'));
    quietSince = performance.now();
  });
  afterAll(async () => {
    await app.close();
    await proxy.close();
    await tracker.close();
  });

  const until = (issue: Issue, holds: (seen: Issue) => boolean): Promise<Issue> =>
    eventually(() => getIssue(ann, issue), holds);
  /** Syncs an issue as soon as the background is not syncing it. */
  const syncNow = async (issue: Issue): Promise<Issue> => {
    const response = await ann.post(issuePath(issue, 'sync/'));
    if (response.status === 200) return issueIn(response);
    expectProblem(response, 409, 'sync_in_progress');
    await pause(50);
    return syncNow(issue);
  };
  const aLinkedIssue = async (title: string) => {
    const issue = await syncNow(await createIssue(ann, { title }));
    return { issue, remoteId: issue.external?.id ?? '' };
  };

  describe('the background', () => {
    it('pulls fields, comments and states of linked issues', async () => {
      const { issue, remoteId } = await aLinkedIssue('Here');
      await tracker.edit(remoteId, { title: 'Edited there', state: tracker.words.done });
      await until(issue, ({ title, status }) => title === 'Edited there' && status !== 'OPEN');
      await tracker.comment(remoteId, 'A word from there');
      await until(issue, (seen) => seen.comments.some(({ body }) => body === 'A word from there'));
    });

    it('pulls an edit in the same second as the sync before it', async () => {
      const { issue, remoteId } = await aLinkedIssue('First');
      await pause(1_050 - (Date.now() % 1_000));
      await tracker.edit(remoteId, { title: 'Second' });
      await syncNow(issue);
      await tracker.edit(remoteId, { title: 'Third' });
      await until(issue, ({ title }) => title === 'Third');
    });

    it('retries a failed issue that was changed in the tracker', async () => {
      const { issue, remoteId } = await aLinkedIssue('Failed');
      await app.sql(
        `UPDATE tracker_links SET last_error = 'tracker_rejected', failed_at = now(), failed_activity_id = 1000000,
           failed_configuration = $2
          WHERE issue_id = $1`,
        [issue.id, app.dependencies.config.tracking?.fingerprint],
      );
      await tracker.edit(remoteId, { title: 'Changed' });
      await until(issue, ({ title, sync }) => title === 'Changed' && sync.state === 'synced');
    });

    it('reports a second issue that a proxy created by repeating a request', async () => {
      repeatsCreation = true;
      const { issue, remoteId } = await aLinkedIssue('Twice').finally(() => {
        repeatsCreation = false;
      });
      const [, second] = (await tracker.issues()).filter(({ title }) => title === 'Twice');
      expect([remoteId, second?.id]).toEqual([remoteId, String(Number(remoteId) + 1)]);
      const reported = await until(issue, ({ sync }) => sync.conflicts.length > 0 && sync.state === 'synced');
      expect(reported.sync.conflicts).toMatchObject([{ field: 'external', reason: 'duplicate_remote' }]);
      expect(reported.sync.conflicts[0]?.remote).toMatch(new RegExp(`/${second?.id}$`));
    });

    it('syncs nothing that did not change', async () => {
      // The issue was synced before the other tests.
      await pause(Math.max(0, 4_500 - (performance.now() - quietSince)));
      const before = await getIssue(ann, quiet);
      await pause(3_000);
      expect((await getIssue(ann, quiet)).sync.last_synced_at).toBe(before.sync.last_synced_at);
    });
  });
}
