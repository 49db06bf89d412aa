import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('the policy newest', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject();
    app = await startTestApp(trackerEnvironment(tracker, { SYNC_CONFLICT_POLICY: 'newest' }));
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  it("compares the time of each field's change: a later note does not make an older title the newest", async () => {
    const issue = await createIssue(ann, { title: 'Agreed', description: 'Agreed text' });
    const { external } = await syncIssue(ann, issue);
    const id = external?.id ?? '';
    await tracker.edit(id, { title: 'Older there' });
    await ann.put(issuePath(issue), { description: 'Older here' }).expect(200);
    await pause(1_100);
    await ann.put(issuePath(issue), { title: 'Newer here' }).expect(200);
    await pause(1_100);
    await tracker.comment(id, 'A later note');
    await tracker.edit(id, { text: 'Newer there' });
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ title: 'Newer here', description: 'Newer there' });
    expect(synced.sync.conflicts).toMatchObject([
      { field: 'title', remote: 'Older there', kept: 'local' },
      { field: 'description', local: 'Older here', kept: 'remote' },
    ]);
  });
});
