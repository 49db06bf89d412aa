import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('an issue in Redmine', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject();
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  const linked = async () => {
    const issue = await createIssue(ann, { title: 'Edited often' });
    return { issue, remoteId: (await syncIssue(ann, issue)).external?.id ?? '' };
  };

  it('whose journals have more than 5 MB is synced in both directions', async () => {
    const { issue, remoteId } = await linked();
    // Each edit adds the old and the new text to the journals, three bytes a character.
    for (let edit = 1; edit <= 18; edit += 1)
      await tracker.edit(remoteId, { text: `${edit} ${'長'.repeat(60_000)}` });
    await tracker.comment(remoteId, 'A note');
    const pulled = await syncIssue(ann, issue);
    expect(pulled.description).toMatch(/^18 長/);
    expect(pulled.comments).toMatchObject([{ body: 'A note' }]);
    await ann.put(issuePath(issue), { title: 'Renamed' }).expect(200);
    await ann.post(issuePath(issue, 'comments/'), { body: 'An answer' }).expect(201);
    expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({
      pushed: ['title'],
      comments_pushed: 1,
    });
  });

  it('whose text has more than 5 MB fails with a specific error, and its notes are synced', async () => {
    const { issue, remoteId } = await linked();
    await tracker.edit(remoteId, { text: 'x'.repeat(6 * 1024 * 1024) });
    await tracker.comment(remoteId, 'A note');
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 422, 'remote_too_large');
    const seen = await getIssue(ann, issue);
    expect(seen).toMatchObject({ comments: [{ body: 'A note' }], sync: { last_error: 'remote_too_large' } });
    await tracker.edit(remoteId, { text: 'Short again' });
    expect(await syncIssue(ann, issue)).toMatchObject({
      description: 'Short again',
      sync: { state: 'synced' },
    });
  });
});
