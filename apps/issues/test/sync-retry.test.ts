import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const retryPath = '/api/v1/sync/retry/';

let tracker: FakeTestTracker;
let app: TestApp;
let ann: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  tracker = await startFakeTracker('gitea');
  app = await startTestApp(trackerEnvironment(tracker));
  ann = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterAll(async () => {
  await app.close();
  await tracker.close();
});

beforeEach(() => app.sql('UPDATE tracker_links SET last_error = NULL, next_attempt_at = NULL'));

const listed = async (sync: string): Promise<string[]> => {
  const { body } = await ann.get(`${issuesPath}?sync=${sync}`).expect(200);
  return body.map(({ id }: Issue) => id);
};
const failSync = async (status: number) => {
  const issue = await createIssue(ann);
  tracker.fake.fail({ kind: 'status', status, times: status >= 500 ? 3 : 1 });
  expect((await ann.post(issuePath(issue, 'sync/'))).status).toBeGreaterThanOrEqual(400);
  tracker.fake.clearFaults();
  return issue;
};
const retry = async (filter: object) => (await staff.post(retryPath, filter).expect(200)).body;

describe('GET /api/v1/issues/?sync=', () => {
  it('lists issues by the state of their sync', async () => {
    const failed = await failSync(401);
    const stale = await failSync(500);
    const synced = await createIssue(ann);
    await ann.post(issuePath(synced, 'sync/')).expect(200);
    const conflicting = await createIssue(ann, { title: 'Before' });
    const { body } = await ann.post(issuePath(conflicting, 'sync/')).expect(200);
    await tracker.edit(body.external.id, { title: 'There' });
    await ann.patch(issuePath(conflicting), { title: 'Here' }).expect(200);
    await ann.post(issuePath(conflicting, 'sync/')).expect(200);
    await createIssue(ann);
    expect(await listed('failed')).toEqual([failed.id]);
    expect((await getIssue(ann, failed)).sync.state).toBe('failed');
    expect(await listed('stale')).toEqual([stale.id]);
    expect((await getIssue(ann, stale)).sync.state).toBe('retrying');
    expect(await listed('conflict')).toEqual([conflicting.id]);
    const [row] = (await ann.get(`${issuesPath}?sync=conflict`).expect(200)).body;
    expect(row.sync).toMatchObject({ conflicts_count: 1 });
    // The texts of a conflict can be large.
    expect(row.sync).not.toHaveProperty('conflicts');
    const report = await ann.get(issuePath(conflicting, 'sync/')).expect(200);
    expect(report.body.conflicts).toMatchObject([{ field: 'title', local: 'Here', remote: 'There' }]);
  });

  it('counts and searches like other filters', async () => {
    await failSync(401);
    const { body } = await ann.get(`/api/v1/issue-pages/?sync=failed&page=1`).expect(200);
    expect(body).toMatchObject({ count: 1, results: [{ sync: { state: 'failed' } }] });
    expect((await ann.get(`${issuesPath}?sync=failed&search=nosuchword`).expect(200)).body).toEqual([]);
  });

  it('is empty without a tracker, and refuses other values', async () => {
    const without = await startTestApp({}, app);
    expect((await ann.on(without).get(`${issuesPath}?sync=failed`).expect(200)).body).toEqual([]);
    await without.close();
    expectInvalidFields(await ann.get(`${issuesPath}?sync=broken`), ['sync']);
  });
});

describe('POST /api/v1/sync/retry/', () => {
  it('makes failed issues due once, so that they are synced', async () => {
    const issues = [await failSync(401), await failSync(401), await failSync(401)];
    expect(await listed('failed')).toHaveLength(3);
    expect(await retry({ sync: 'failed', limit: 2 })).toEqual({ made_due: 2, has_more: true });
    expect(await retry({ sync: 'failed' })).toEqual({ made_due: 1, has_more: false });
    expect(await retry({ sync: 'failed' })).toEqual({ made_due: 0, has_more: false });
    expect(await retry({ sync: 'stale', last_error: 'tracker_auth_failed' })).toEqual({
      made_due: 0,
      has_more: false,
    });
    const background = await startTestApp(
      trackerEnvironment(tracker, { SYNC_WORKERS: '2', SYNC_POLL_MS: '100' }),
      app,
    );
    await eventually(
      () => listed('stale'),
      (stale) => stale.length === 0,
    );
    await background.close();
    for (const issue of issues) expect((await getIssue(ann, issue)).sync.state).toBe('synced');
  });

  it('filters by the last error and resets the number of failures', async () => {
    const refused = await failSync(401);
    const rejected = await failSync(422);
    await app.sql('UPDATE tracker_links SET failures = 12 WHERE issue_id = $1', [rejected.id]);
    expect(await retry({ sync: 'failed', last_error: 'tracker_rejected' })).toEqual({
      made_due: 1,
      has_more: false,
    });
    expect(await listed('failed')).toEqual([refused.id]);
    const [row] = await app.sql('SELECT failures FROM tracker_links WHERE issue_id = $1', [rejected.id]);
    expect(row?.failures).toBe(0);
  });

  it('brings retries forward that are scheduled for later', async () => {
    const issue = await failSync(500);
    expect(Date.parse((await getIssue(ann, issue)).sync.next_attempt_at ?? '')).toBeGreaterThan(Date.now());
    expect(await retry({ sync: 'stale', last_error: 'tracker_unavailable' })).toMatchObject({ made_due: 1 });
    expect(Date.parse((await getIssue(ann, issue)).sync.next_attempt_at ?? '')).toBeLessThanOrEqual(
      Date.now(),
    );
  });

  it('skips issues that are being synced and issues that only staff can decide', async () => {
    const [running, reused] = [await failSync(401), await failSync(401)];
    await app.sql(
      `UPDATE tracker_links SET claim_id = gen_random_uuid(), claim_until = now() + interval '1 minute'
        WHERE issue_id = $1`,
      [running.id],
    );
    await app.sql(`UPDATE tracker_links SET last_error = 'remote_gone' WHERE issue_id = $1`, [reused.id]);
    await retry({ sync: 'failed' });
    expect((await listed('failed')).sort()).toEqual([running.id, reused.id].sort());
  });

  it('requires staff and a tracker, and limits the number of issues', async () => {
    expectProblem(await ann.post(retryPath, { sync: 'failed' }), 403, 'forbidden');
    expectInvalidFields(await staff.post(retryPath, { sync: 'failed', limit: 1_001 }), ['limit']);
    expectInvalidFields(await staff.post(retryPath, { sync: 'all' }), ['sync']);
    const without = await startTestApp({}, app);
    expectProblem(await staff.on(without).post(retryPath, { sync: 'failed' }), 409, 'tracker_not_configured');
    await without.close();
  });
});

describe('an issue whose first sync failed in a wrong project', () => {
  it('is synced as soon as the project is corrected', async () => {
    const wrong = await startTestApp(trackerEnvironment({ ...tracker, project: 'acme/nosuch' }), app);
    const issue = await createIssue(ann);
    expectProblem(await ann.on(wrong).post(issuePath(issue, 'sync/')), 502, 'project_not_found');
    await wrong.close();
    const background = { SYNC_WORKERS: '1', SYNC_POLL_MS: '100' };
    const corrected = await startTestApp(trackerEnvironment(tracker, background), app);
    await eventually(
      () => getIssue(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    await corrected.close();
  });
});
