import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const background = {
  SYNC_AUTO: 'all',
  SYNC_WORKERS: '2',
  SYNC_POLL_MS: '100',
  SYNC_POLL_REMOTE_SECONDS: '1',
};

let tracker: FakeTestTracker;
let app: TestApp;
let replica: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  tracker = await startFakeTracker('github');
  app = await startTestApp(trackerEnvironment(tracker));
  replica = await startTestApp(trackerEnvironment(tracker, background), app);
  ann = await aPerson(app);
});
afterAll(async () => {
  await Promise.all([app.close(), replica.close()]);
  await tracker.close();
});

it("while GitHub's secondary limit lasts, no replica sends a request, and nothing fails because of it", async () => {
  const linked = await syncIssue(ann, await createIssue(ann, { title: 'Linked' }));
  tracker.fake.fail({
    kind: 'status',
    status: 403,
    headers: { 'retry-after': '60' },
    body: { message: 'You have exceeded a secondary rate limit.' },
  });
  const limited = await createIssue(ann, { title: 'Limited' });
  let answer = await ann.post(issuePath(limited, 'sync/'));
  if (answer.status === 409) answer = await ann.post(issuePath(linked, 'sync/'));
  // The background may have met the limit first.
  expectProblem(answer, 503, 'tracker_rate_limited');
  await pause(300);
  const before = tracker.fake.requests.length;
  const issues = await Promise.all(
    Array.from({ length: 10 }, (_, number) => createIssue(ann, { title: `Waiting ${number}` })),
  );
  for (const client of [ann, ann.on(replica)]) {
    const refused = await client.post(issuePath(linked, 'sync/'));
    expectProblem(refused, 503, 'tracker_rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
  }
  await pause(2_500);
  expect(tracker.fake.requests.slice(before)).toEqual([]);
  for (const issue of issues) expect((await getIssue(ann, issue)).sync.last_error).toBeNull();

  await app.sql('UPDATE tracker_states SET limited_until = now()');
  for (const issue of issues) {
    for (let look = 0; look < 100; look += 1) {
      if ((await getIssue(ann, issue)).sync.state === 'synced') break;
      await pause(50);
    }
    expect((await getIssue(ann, issue)).sync.state).toBe('synced');
  }
});
