import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

// After this time, no further change can have the same `updated_at`, which has a resolution of one second.
const settledMs = 3_100;

// Concurrent, because most of the time is spent waiting.
it.concurrent.each(['github', 'gitlab', 'gitea'] as const)(
  'the requests to %s are at most 2 for a first sync without comments and 1 for an unchanged issue; no comment is missed',
  async (provider) => {
    const tracker = await startFakeTracker(provider);
    const app = await startTestApp(trackerEnvironment(tracker));
    const ann = await aPerson(app);
    const issue = await createIssue(ann);
    const requestsOf = async (act: () => Promise<unknown>) => {
      const before = tracker.fake.requests.length;
      await act();
      return tracker.fake.requests.slice(before).map(({ method }) => method);
    };
    const sync = () => syncIssue(ann, issue);
    expect((await requestsOf(sync)).length).toBeLessThanOrEqual(2);
    await pause(settledMs);
    await sync();
    expect(await requestsOf(sync)).toEqual(['GET']);

    const [remote] = tracker.fake.issues();
    await tracker.comment(String(remote?.number), 'From there');
    expect((await sync()).comments_count).toBe(1);
    await tracker.comment(String(remote?.number), 'In the same second');
    expect((await sync()).comments_count).toBe(2);
    await pause(settledMs);
    await sync();
    await ann.post(issuePath(issue, 'comments/'), { body: 'From here' }).expect(201);
    await sync();
    expect(tracker.fake.issues()[0]?.comments).toHaveLength(3);
    await app.close();
    await tracker.close();
  },
);
