import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

let tracker: FakeTestTracker;
let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  tracker = await startFakeTracker('gitlab');
  app = await startTestApp(trackerEnvironment(tracker));
  ann = await aPerson(app);
});
afterAll(async () => {
  await app.close();
  await tracker.close();
});

it('finds a title that a sync overwrote in GitLab in the system notes', async () => {
  const issue = await createIssue(ann, { title: 'Agreed' });
  const { external } = await syncIssue(ann, issue);
  await ann.put(issuePath(issue), { title: 'Ours' }).expect(200);
  tracker.fake.fail({ kind: 'latency', ms: 600, on: { method: 'PUT' } });
  const [synced] = await Promise.all([
    syncIssue(ann, issue),
    pause(300).then(() => tracker.edit(external?.id ?? '', { title: 'Theirs' })),
  ]);
  expect(synced).toMatchObject({ title: 'Ours' });
  expect(synced.sync.conflicts).toMatchObject([
    { field: 'title', reason: 'overwritten', local: 'Ours', remote: 'Theirs', base: 'Agreed', kept: 'local' },
  ]);
});

it('replaces a text in GitLab that exceeds every limit of an issue if staff keep the local text', async () => {
  const staff = await aPerson(app, { is_staff: true });
  const issue = await createIssue(staff, { description: 'Ours' });
  const { external } = await syncIssue(staff, issue);
  await tracker.edit(external?.id ?? '', { text: 'long '.repeat(60_000) });
  const { sync } = await syncIssue(staff, issue);
  expect(sync.conflicts).toMatchObject([{ field: 'description', reason: 'not_storable', local: 'Ours' }]);
  const path = issuePath(issue, `sync/conflicts/${sync.conflicts[0]?.id}/`);
  expectProblem(await staff.post(path, { keep: 'remote' }), 409, 'not_storable');
  await staff.post(path, { keep: 'local' }).expect(200);
  expect(await syncIssue(staff, issue)).toMatchObject({ description: 'Ours', sync: { conflicts: [] } });
  const remote = (await tracker.issues()).find(({ id }) => id === external?.id);
  expect(remote?.text).toMatch(/^Ours\n/);
});
