import { describe, expect, it } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { createIssue } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { describePoll } from './support/sync-poll.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe.each(['github', 'gitlab', 'gitea'] as const)('changes in %s', (provider) => {
  describePoll(() => startFakeTracker(provider));
});

it('two replicas send one request per interval for a project without changes', async () => {
  const tracker = await startFakeTracker('github');
  const variables = trackerEnvironment(tracker, {
    SYNC_AUTO: 'linked',
    SYNC_WORKERS: '2',
    SYNC_POLL_MS: '100',
    SYNC_POLL_REMOTE_SECONDS: '1',
  });
  const app = await startTestApp(variables);
  const replica = await startTestApp(variables, app);
  const ann = await aPerson(app);
  for (let number = 1; number <= 5; number += 1) await syncIssue(ann, await createIssue(ann));
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  const before = tracker.fake.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const requests = tracker.fake.requests.slice(before);
  await Promise.all([app.close(), replica.close()]);
  await tracker.close();
  expect(requests.map(({ method, query }) => [method, query.sort])).toEqual(
    requests.map(() => ['GET', 'updated']),
  );
  expect(requests.length).toBeGreaterThanOrEqual(2);
  expect(requests.length).toBeLessThanOrEqual(4);
});
