import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
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
let linked: Issue;
beforeAll(async () => {
  tracker = await startFakeTracker('github');
  app = await startTestApp(trackerEnvironment(tracker));
  ann = await aPerson(app);
  linked = await syncIssue(ann, await createIssue(ann, { title: 'Linked' }));
  replica = await startTestApp(trackerEnvironment(tracker, background), app);
});
afterAll(async () => {
  await Promise.all([app.close(), replica.close()]);
  await tracker.close();
});

/** Repeats a sync request until no background worker has a lease of the issue. */
async function syncWhenFree(person: TestPerson, issue: Issue) {
  for (;;) {
    const response = await person.post(issuePath(issue, 'sync/'));
    if (response.body.code !== 'sync_in_progress') return response;
    await pause(50);
  }
}

it("while GitHub's secondary limit lasts, no replica sends a request, and no sync counts as failed", async () => {
  tracker.fake.fail({
    kind: 'status',
    status: 403,
    headers: { 'retry-after': '60' },
    body: { message: 'You have exceeded a secondary rate limit.' },
  });
  const limited = await createIssue(ann, { title: 'Limited' });
  expectProblem(await syncWhenFree(ann, limited), 503, 'tracker_rate_limited');
  await pause(300);
  const before = tracker.fake.requests.length;
  const issues = await Promise.all(
    Array.from({ length: 10 }, (_, number) => createIssue(ann, { title: `Waiting ${number}` })),
  );
  for (const client of [ann, ann.on(replica)]) {
    const refused = await syncWhenFree(client, linked);
    expectProblem(refused, 503, 'tracker_rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
  }
  await pause(2_500);
  expect(tracker.fake.requests.slice(before)).toEqual([]);
  for (const issue of issues) expect((await getIssue(ann, issue)).sync.last_error).toBeNull();

  await app.sql('UPDATE tracker_states SET limited_until = now()');
  for (const issue of issues) {
    await eventually(
      () => getIssue(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
  }
});
