import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('an account that may create and comment in Redmine, but not change a status', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject('reporter');
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  it('causes a conflict for the ignored status; all other fields are synced', async () => {
    const issue = await createIssue(ann, { title: 'Mine', description: 'Some\nlines' });
    await ann.post(issuePath(issue, 'comments/'), { body: 'A word' }).expect(201);
    await ann.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ status: 'IN_PROGRESS', external: { state: 'New' } });
    expect(synced.sync).toMatchObject({
      state: 'synced',
      last_result: { created: true, pushed: [], pulled: [], comments_pushed: 1 },
      conflicts: [
        { field: 'status', reason: 'not_applied', local: 'IN_PROGRESS', remote: 'New', kept: null },
      ],
    });
    const [remote] = await tracker.issues();
    expect(remote).toMatchObject({ title: 'Mine', state: 'New' });
    expect(remote?.comments).toHaveLength(1);
    // The next sync tries again. It neither reverts the status nor reports a second conflict.
    const again = await syncIssue(ann, issue);
    expect(again).toMatchObject({ status: 'IN_PROGRESS', version: synced.version });
    expect(again.sync.conflicts).toEqual(synced.sync.conflicts);
  });

  it('follows a status change by another user of Redmine', async () => {
    const issue = await createIssue(ann);
    const { external } = await syncIssue(ann, issue);
    await tracker.edit(external?.id ?? '', { state: 'Rejected' });
    expect(await syncIssue(ann, issue)).toMatchObject({ status: 'CLOSED', external: { state: 'Rejected' } });
  });
});
