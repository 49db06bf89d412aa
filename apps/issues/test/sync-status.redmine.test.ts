import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { activitySchema, type Issue, type SyncConflict } from '@tessera/contracts';
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

describe('a status that both sides have changed', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let staff: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject();
    app = await startTestApp(trackerEnvironment(tracker));
    staff = await aPerson(app, { is_staff: true });
  });
  afterAll(() => app.close());

  const clashed = async (status: string, state: string) => {
    const issue = await createIssue(staff);
    const { external } = await syncIssue(staff, issue);
    await staff.post(issuePath(issue, 'status/'), { status }).expect(200);
    await tracker.edit(external?.id ?? '', { state });
    const { sync } = await syncIssue(staff, issue);
    expect(sync.conflicts).toMatchObject([{ reason: 'both_changed', remote: state, kept: 'local' }]);
    return { issue, conflicts: sync.conflicts };
  };
  const pathOf = (issue: Issue, [conflict]: SyncConflict[]) =>
    issuePath(issue, `sync/conflicts/${conflict?.id}/`);

  it.each([
    ['RESOLVED', 'In Progress', ['RESOLVED', 'REOPENED', 'IN_PROGRESS']],
    ['CLOSED', 'Rejected', ['CLOSED']],
  ])('is %s here and %s there until staff choose the latter, then %j', async (status, state, steps) => {
    const { issue, conflicts } = await clashed(status, state);
    // This process has not read the statuses of Redmine yet.
    const other = await startTestApp(trackerEnvironment(tracker), app);
    const { body } = await staff.on(other).post(pathOf(issue, conflicts), { keep: 'remote' }).expect(200);
    await other.close();
    expect(body).toMatchObject({ status: steps.at(-1), sync: { conflicts: [] } });
    const { body: history } = await staff.get(issuePath(issue, 'activity/')).expect(200);
    const changes = activitySchema
      .array()
      .parse(history)
      .filter(({ kind }) => kind === 'status_changed');
    expect(changes.map((change) => change.new)).toEqual(steps);
    const expected = { status: body.status, external: { state }, sync: { conflicts: [] } };
    expect(await syncIssue(staff, issue)).toMatchObject(expected);
    const again = await syncIssue(staff, issue);
    expect(again).toMatchObject(expected);
    expect(again.sync.last_result).toMatchObject({ pushed: [], pulled: [] });
  });

  it.each([
    ['IN_PROGRESS', 'Feedback'],
    ['CLOSED', 'Resolved'],
  ])('stays %s with its conflict if staff choose %s, which no steps reach', async (status, state) => {
    const { issue, conflicts } = await clashed(status, state);
    const answer = await staff.post(pathOf(issue, conflicts), { keep: 'remote' });
    expectProblem(answer, 409, 'not_storable');
    expect(await syncIssue(staff, issue)).toMatchObject({ status, sync: { conflicts } });
  });
});
