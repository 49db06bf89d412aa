import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { describePoll } from './support/sync-poll.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe.each(['github', 'gitlab', 'gitea'] as const)('changes in %s', (provider) => {
  describePoll(() => startFakeTracker(provider));
});

describe('a project without further changes', () => {
  let tracker: FakeTestTracker;
  let app: TestApp;
  let replica: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startFakeTracker('gitlab');
    const variables = trackerEnvironment(tracker, {
      SYNC_AUTO: 'linked',
      SYNC_WORKERS: '2',
      SYNC_POLL_MS: '100',
      SYNC_POLL_REMOTE_SECONDS: '1',
    });
    app = await startTestApp(variables);
    replica = await startTestApp(variables, app);
    ann = await aPerson(app);
  });
  afterAll(async () => {
    await Promise.all([app.close(), replica.close()]);
    await tracker.close();
  });

  const requestsWithin = async (ms: number) => {
    const before = tracker.fake.requests.length;
    await pause(ms);
    return tracker.fake.requests.slice(before).map(({ method, query }) => [method, query.order_by]);
  };
  const aLinkedIssue = async () => {
    const { id, external } = await syncIssue(ann, await createIssue(ann));
    return { id, remoteId: external?.id ?? '' };
  };
  const untilTitled = (issue: { id: string }, title: string) =>
    eventually(
      () => getIssue(ann, issue),
      (seen) => seen.title === title,
    );
  /** Waits until the changes are read, as if the last one was read three minutes ago. */
  const untilSettled = () =>
    eventually(
      async () => {
        await app.sql(`UPDATE tracker_states SET changes_read_at = now() - interval '3 minutes'`);
        return app.sql('SELECT changes_settled FROM tracker_states');
      },
      ([state]) => state?.changes_settled === true,
    );

  it('is not listed while no local issue is linked to it', async () => {
    expect(await requestsWithin(1_500)).toEqual([]);
  });

  it('is one request per poll over all replicas, also after many changes', async () => {
    await aLinkedIssue();
    for (let number = 1; number <= 130; number += 1) tracker.fake.createIssue({ title: `Issue ${number}` });
    // A page is not enough for all, which are listed again for as long as an earlier change may become visible.
    const listed = tracker.fake.requests.length;
    await eventually(() => tracker.fake.requests.length > listed + 4);
    await untilSettled();
    // The last poll that began before may not have ended.
    await pause(1_000);
    const from = performance.now();
    const requests = await requestsWithin(3_000);
    const seconds = (performance.now() - from) / 1_000;
    expect(requests).toEqual(requests.map(() => ['GET', 'updated_at']));
    // A request that was sent before can arrive within the time.
    expect(requests.length).toBeLessThanOrEqual(seconds + 1);
    const before = tracker.fake.requests.length;
    await eventually(() => tracker.fake.requests.length >= before + 2);
  });

  it('is listed with an overlap again after the next change', async () => {
    const { id, remoteId } = await aLinkedIssue();
    await untilSettled();
    // The list begins a second after the last change.
    await pause(1_500);
    await tracker.edit(remoteId, { title: 'Changed' });
    await untilTitled({ id }, 'Changed');
    expect(await app.sql('SELECT changes_settled FROM tracker_states')).toEqual([{ changes_settled: false }]);
  });

  it('is listed from before the current time after the clock of the tracker was set back', async () => {
    const { id, remoteId } = await aLinkedIssue();
    await app.sql(`UPDATE tracker_states SET changes_read_until = now() + interval '1 hour'`);
    await app.sql(`UPDATE tracker_links SET remote_seen_until = now() + interval '1 hour'`);
    await tracker.edit(remoteId, { title: 'Changed after that' });
    await untilTitled({ id }, 'Changed after that');
  });
});
