import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, issuePath } from './issues.ts';
import { aPerson, type TestPerson } from './people.ts';
import { syncIssue } from './sync-conformance.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import type { TestTracker } from './test-tracker.ts';
import { trackerEnvironment } from './tracker-environment.ts';

interface HidingTracker {
  tracker: TestTracker;
  /** Restricts the visibility of a remote issue, or ends the restriction. */
  hide: (id: string, isPrivate: boolean) => Promise<void>;
}

/** The tests that every tracker with private issues must pass. */
export function describePrivate(start: () => Promise<HidingTracker>): void {
  let tracker: TestTracker;
  let hide: HidingTracker['hide'];
  let app: TestApp;
  let ann: TestPerson;
  let staff: TestPerson;
  beforeAll(async () => {
    ({ tracker, hide } = await start());
    app = await startTestApp(trackerEnvironment(tracker, { TRACKER_SETTLE_SECONDS: '0' }));
    ann = await aPerson(app);
    staff = await aPerson(app, { is_staff: true });
  });
  afterAll(async () => {
    await app.close();
    await tracker.close();
  });

  const remoteOf = async (id: string) => (await tracker.issues()).find((remote) => remote.id === id);

  it('is neither pulled nor changed until it is public again', async () => {
    const issue = await createIssue(ann, { title: 'Agreed', description: 'Agreed text' });
    const { external } = await syncIssue(ann, issue);
    const id = external?.id ?? '';
    await hide(id, true);
    await tracker.edit(id, { title: 'Secret', text: 'Secret text' });
    await tracker.comment(id, 'A secret note');
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_private');
    await ann.put(issuePath(issue), { description: 'Ours' }).expect(200);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_private');
    const seen = await getIssue(ann, issue);
    expect(seen).toMatchObject({ title: 'Agreed', description: 'Ours', comments: [] });
    expect(seen.sync).toMatchObject({ state: 'failed', last_error: 'remote_private' });
    expect(await remoteOf(id)).toMatchObject({ title: 'Secret', text: 'Secret text' });
    await hide(id, false);
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ title: 'Secret', comments: [{ body: 'A secret note' }] });
    expect(synced.sync.conflicts).toMatchObject([{ field: 'description', remote: 'Secret text' }]);
  });

  it('cannot be attached', async () => {
    const { external } = await syncIssue(ann, await createIssue(ann, { title: 'Hidden' }));
    const id = external?.id ?? '';
    const [row] = await app.sql('SELECT issue_id FROM tracker_links WHERE remote_id = $1', [id]);
    await staff.delete(issuePath({ id: row?.issue_id }, 'external/')).expect(200);
    await hide(id, true);
    const other = await createIssue(ann, { title: 'Other' });
    expectProblem(await staff.put(issuePath(other, 'external/'), { id }), 409, 'remote_private');
    expect(await getIssue(ann, other)).toMatchObject({ title: 'Other', external: null });
  });

  it('is not adopted after the response to its creation was lost', async () => {
    const issue = await createIssue(ann, { title: 'Lost' });
    const { external } = await syncIssue(ann, issue);
    const id = external?.id ?? '';
    // The state after a lost response.
    await app.sql(
      `UPDATE tracker_links SET remote_id = NULL, create_attempted_at = now() WHERE issue_id = $1`,
      [issue.id],
    );
    await hide(id, true);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_private');
    const marked = (await tracker.issues()).filter(({ text }) => text.includes(`issues-sync:${issue.id}`));
    expect(marked).toHaveLength(1);
  });
}
