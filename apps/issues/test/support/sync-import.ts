import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Import, type Issue, importPreviewSchema, importSchema, issueSchema } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, historyOf, issuePath, issuesPath } from './issues.ts';
import { anEmail, aPerson, type TestPerson } from './people.ts';
import { syncIssue } from './sync-conformance.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import type { TestTracker } from './test-tracker.ts';
import { trackerEnvironment } from './tracker-environment.ts';

export const importPath = '/api/v1/sync/import/';

/** Short times for imports in the background. */
export const importing = { SYNC_WORKERS: '2', SYNC_POLL_MS: '100', SYNC_RETRY_SECONDS: '1' };

/** Waits until the last import is in a state. */
export async function untilImport(staff: TestPerson, state: Import['state']): Promise<Import> {
  const look = async () => importSchema.parse((await staff.get(importPath).expect(200)).body);
  return eventually(look, (seen) => seen.state === state);
}

/** Starts an import and waits until it has ended. */
export async function importAll(staff: TestPerson): Promise<Import> {
  await staff.post(importPath).expect(202);
  return untilImport(staff, 'finished');
}

/** Returns every issue, as soon as the background has synced all of them. */
export async function untilSynced(person: TestPerson): Promise<Issue[]> {
  const look = async () => {
    const { body } = await person.get(`${issuesPath}?limit=200&ordering=created_at`).expect(200);
    const issues: Issue[] = [];
    for (const issue of body) issues.push(await getIssue(person, issue));
    return issues;
  };
  return eventually(look, (issues) => issues.every(({ sync }) => sync.state === 'synced'));
}

interface ImportedTracker {
  tracker: TestTracker;
  /** Restricts the visibility of a remote issue; absent if the tracker does not support this. */
  hide?: (id: string) => Promise<void>;
}

/** The tests of imports, which every tracker must pass. */
export function describeImport(start: () => Promise<ImportedTracker>): void {
  let tracker: TestTracker;
  let hide: ImportedTracker['hide'];
  let app: TestApp;
  let staff: TestPerson;
  let ann: TestPerson;
  beforeAll(async () => {
    ({ tracker, hide } = await start());
    const first = await tracker.create({ title: 'Assigned', text: '' });
    const name = await tracker.assign(first);
    const email = anEmail();
    const variables = { ...importing, TRACKER_ASSIGNEES: `${name}=${email}` };
    app = await startTestApp(trackerEnvironment(tracker, variables));
    ann = await aPerson(app, { email });
    staff = await aPerson(app, { is_staff: true });
  });
  afterAll(async () => {
    await app.close();
    await tracker.close();
  });

  it('lists its effects in a dry run and writes nothing', async () => {
    const { body } = await staff.post(`${importPath}?dry_run=true`).expect(200);
    expect(importPreviewSchema.parse(body)).toMatchObject({
      issues: [{ action: 'import', reason: null, title: 'Assigned', status: 'OPEN', assignee_id: ann.id }],
      next: null,
    });
    expect((await staff.get(issuesPath).expect(200)).body).toEqual([]);
    expect((await staff.get(importPath).expect(200)).body).toMatchObject({ state: 'none', imported: 0 });
    expectProblem(await ann.post(importPath), 403, 'forbidden');
    expectProblem(await ann.get(importPath), 403, 'forbidden');
  });

  it('creates an issue for each remote issue, with its fields, its comments and its author', async () => {
    const linked = await syncIssue(ann, await createIssue(ann, { title: 'From here' }));
    const long = await tracker.create({ title: 'Long', text: 'é'.repeat(65_100) });
    const done = await tracker.create({ title: 'Done', text: 'Water\nin the cellar.' });
    await tracker.edit(done, { state: tracker.words.done });
    await tracker.comment(done, 'It is warm.');
    const hidden = await tracker.create({ title: 'Hidden', text: 'Secret' });
    await hide?.(hidden);

    const result = await importAll(staff);
    const shown = hide === undefined ? 4 : 3;
    expect(result).toMatchObject({ imported: shown, linked: 1, skipped: hide === undefined ? 0 : 1 });
    expect(result).toMatchObject({ unassigned: 0, last_error: null, requested_by: staff.id });

    const issues = await untilSynced(ann);
    const of = (title: string) => issueSchema.parse(issues.find((issue) => issue.title === title));
    expect(issues.map(({ title }) => title).sort()).toEqual(
      ['Assigned', 'Done', 'From here', ...(hide === undefined ? ['Hidden'] : []), 'Long'].sort(),
    );
    expect(of('Assigned')).toMatchObject({
      assignee: { id: ann.id },
      reporter: { id: staff.id },
      status: 'OPEN',
    });
    expect(of('Done')).toMatchObject({
      description: 'Water\nin the cellar.',
      project: { key: 'ISS' },
      assignee: null,
      external: { id: done, author: expect.any(String), created_at: expect.any(String) },
      comments: [{ body: 'It is warm.', author: null, origin: tracker.provider }],
      sync: { conflicts: [] },
      links: [{ type: 'external_issue', ref: `${tracker.provider}:${done}` }],
    });
    expect(['RESOLVED', 'CLOSED']).toContain(of('Done').status);
    expect(await historyOf(ann, of('Done'))).toMatchObject([
      { kind: 'created', actor: null },
      { kind: 'comment_added', actor: null },
    ]);
    expect(of('Long').description).toMatch(/^é+\n\n\[cut: the whole text is in the external tracker\]$/);
    const report = await staff.get(issuePath(of('Long'), 'sync/')).expect(200);
    expect(report.body.conflicts).toMatchObject([
      { field: 'description', reason: 'not_storable', kept: 'local' },
    ]);
    expect(of('From here').external).toMatchObject({
      id: linked.external?.id,
      author: null,
      created_at: null,
    });
    const remote = (await tracker.issues()).find(({ id }) => id === long);
    expect(remote?.text).toBe('é'.repeat(65_100));
  });

  const previewOf = async (remoteId: string | undefined) => {
    const { body } = await staff.post(`${importPath}?dry_run=true`).expect(200);
    return importPreviewSchema.parse(body).issues.filter(({ external }) => external.id === remoteId);
  };

  it('imports a copy that a user of the tracker made of an issue with a marker', async () => {
    const remoteOf = async (id: string | undefined) =>
      (await tracker.issues()).find((remote) => remote.id === id);
    const original = await syncIssue(ann, await createIssue(ann, { title: 'Original', description: 'Text' }));
    const { text = '' } = (await remoteOf(original.external?.id)) ?? {};
    expect(text).toContain(`issues-sync:${original.id}`);
    const copyId = await tracker.create({ title: 'Copy', text });
    expect(await previewOf(copyId)).toMatchObject([{ action: 'import', reason: null, title: 'Copy' }]);
    expect(await importAll(staff)).toMatchObject({ imported: 1 });
    const copy = issueSchema.parse((await untilSynced(ann)).find(({ title }) => title === 'Copy'));
    expect(copy).toMatchObject({ description: 'Text', external: { id: copyId }, sync: { conflicts: [] } });

    await ann.put(issuePath(original), { description: 'Original text' }).expect(200);
    await staff.put(issuePath(copy), { description: 'Text of the copy' }).expect(200);
    expect((await syncIssue(ann, original)).external).toEqual(original.external);
    expect((await syncIssue(staff, copy)).external).toEqual(copy.external);
    const markers = async (id: string | undefined) =>
      (await remoteOf(id))?.text.replaceAll('\r\n', '\n').split('\n\n');
    expect(await markers(original.external?.id)).toEqual([
      'Original text',
      `<!-- issues-sync:${original.id} -->`,
    ]);
    expect(await markers(copyId)).toEqual(['Text of the copy', `<!-- issues-sync:${copy.id} -->`]);
    expect((await previewOf(copyId))[0]?.reason).toBe('linked');
  });

  it('imports no issue twice, including an issue that a sync has just created', async () => {
    const before = (await untilSynced(ann)).length;
    const created = await syncIssue(ann, await createIssue(ann, { title: 'Created' }));
    // The state before the response to the creation has arrived.
    await app.sql(
      `UPDATE tracker_links SET remote_id = NULL, create_attempted_at = now(), next_attempt_at = now() + interval '1 hour'
        WHERE issue_id = $1`,
      [created.id],
    );
    expect(await previewOf(created.external?.id)).toMatchObject([{ action: 'skip', reason: 'created_here' }]);
    // The state if the request took effect twice.
    await app.sql(`UPDATE tracker_links SET remote_id = 'first' WHERE issue_id = $1`, [created.id]);
    expect(await previewOf(created.external?.id)).toMatchObject([{ action: 'skip', reason: 'created_here' }]);
    const result = await importAll(staff);
    expect(result).toMatchObject({ imported: 0, linked: before, skipped: hide === undefined ? 1 : 2 });
    const { body: list } = await ann.get(`${issuesPath}?limit=200`).expect(200);
    expect(list).toHaveLength(before + 1);
  });
}
