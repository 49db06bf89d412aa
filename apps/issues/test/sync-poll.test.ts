import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
  /** Sets the time at which the last change was read to three minutes ago. */
  const age = () => app.sql(`UPDATE tracker_states SET changes_read_at = now() - interval '3 minutes'`);
  const aLinkedIssue = async () => {
    const { id, external } = await syncIssue(ann, await createIssue(ann));
    return { id, remoteId: external?.id ?? '' };
  };
  const untilTitled = async (issue: { id: string }, title: string): Promise<void> => {
    for (let look = 0; (await getIssue(ann, issue)).title !== title; look += 1) {
      if (look > 100) throw new Error(`it never got the title ${title}`);
      await pause(100);
    }
  };

  it('is not listed while no local issue is linked to it', async () => {
    expect(await requestsWithin(1_500)).toEqual([]);
  });

  it('is one request per poll over all replicas, also after many changes', async () => {
    await aLinkedIssue();
    for (let number = 1; number <= 130; number += 1) tracker.fake.createIssue({ title: `Issue ${number}` });
    await pause(1_500);
    expect((await requestsWithin(3_000)).length).toBeGreaterThan(4);
    await age();
    await pause(1_500);
    const requests = await requestsWithin(3_000);
    expect(requests).toEqual(requests.map(() => ['GET', 'updated_at']));
    expect(requests.length).toBeGreaterThanOrEqual(2);
    expect(requests.length).toBeLessThanOrEqual(4);
  });

  it('is listed with an overlap again after the next change', async () => {
    const { id, remoteId } = await aLinkedIssue();
    await age();
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
