import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { describeSync, syncIssue } from './support/sync-conformance.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

/**
 * Syncs an issue, deletes its remote issue, and creates another with its number. Redmine gives the number of the last
 * issue to the next one of any project, and other tests create issues too.
 */
async function reuseNumber(person: TestPerson, tracker: Awaited<ReturnType<typeof startRedmineProject>>) {
  for (;;) {
    const former = await syncIssue(person, await createIssue(person, { title: 'Former' }));
    const id = former.external?.id ?? '';
    // Redmine stores times with a resolution of a second.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await tracker.remove(id);
    const other = await tracker.create({ title: 'Another', text: 'of someone else' });
    if (other === id) return { former, id };
    await tracker.remove(other);
  }
}

describe('a sync with a real Redmine', () => {
  describeSync(() => startRedmineProject());

  it('neither reads nor changes another issue that got the number of a deleted one', async () => {
    const tracker = await startRedmineProject();
    const app = await startTestApp(trackerEnvironment(tracker));
    try {
      const [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true })];
      const { former, id } = await reuseNumber(ann, tracker);
      await ann.post(issuePath(former, 'comments/'), { body: 'about the former' }).expect(201);
      const refusal = await ann.post(issuePath(former, 'sync/'));
      expectProblem(refusal, 409, 'remote_gone');
      expect(refusal.body.detail).toContain('gave its number to another issue');
      expect(await getIssue(ann, former)).toMatchObject({ title: 'Former', description: '' });
      expect(await tracker.issues()).toMatchObject([{ title: 'Another', comments: [] }]);
      const attached = await staff.put(issuePath(former, 'external/'), { id }).expect(200);
      expect(attached.body).toMatchObject({ external: { id }, sync: { last_error: null } });
      await staff.delete(issuePath(former, 'external/')).expect(200);
      expect((await syncIssue(ann, former)).external?.id).not.toBe(id);
      expect((await tracker.issues()).map(({ title }) => title)).toEqual(['Another', 'Former']);
    } finally {
      await app.close();
      await tracker.close();
    }
  });
});
