import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, historyOf, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('a closed issue whose status in Redmine', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject();
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  const closed = async () => {
    const issue = await createIssue(ann);
    await ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200);
    const { external, status } = await syncIssue(ann, issue);
    expect([status, external?.state]).toEqual(['CLOSED', 'Closed']);
    return { issue, remoteId: external?.id ?? '' };
  };

  it('becomes In Progress is reopened and in progress locally', async () => {
    const { issue, remoteId } = await closed();
    await tracker.edit(remoteId, { state: 'In Progress' });
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ status: 'IN_PROGRESS', sync: { conflicts: [] } });
    const history = await historyOf(ann, issue);
    for (const status of ['CLOSED', 'REOPENED', 'IN_PROGRESS'])
      expect(history).toContainEqual(expect.objectContaining({ field: 'status', new: status }));
    expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
  });

  it('becomes New, which the workflow cannot reach, has a conflict until staff keep the local status', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const { issue, remoteId } = await closed();
    await tracker.edit(remoteId, { state: 'New' });
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ status: 'REOPENED', external: { state: 'New' } });
    expect(synced.sync.conflicts).toMatchObject([
      { field: 'status', reason: 'not_representable', local: 'REOPENED', remote: 'New', kept: null },
    ]);
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual(synced.sync.conflicts);
    const path = issuePath(issue, `sync/conflicts/${synced.sync.conflicts[0]?.id}/`);
    expectProblem(await staff.post(path, { keep: 'remote' }), 409, 'not_storable');
    await staff.post(path, { keep: 'local' }).expect(200);
    const decided = await syncIssue(ann, issue);
    expect(decided).toMatchObject({
      status: 'REOPENED',
      external: { state: 'Feedback' },
      sync: { conflicts: [] },
    });
  });
});
