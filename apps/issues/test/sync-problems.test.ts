import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe.each(['github', 'gitlab', 'gitea'] as const)(
  'a sync that %s refuses reports the reason',
  (provider) => {
    let tracker: FakeTestTracker;
    let app: TestApp;
    let ann: TestPerson;
    beforeAll(async () => {
      tracker = await startFakeTracker(provider);
      app = await startTestApp(trackerEnvironment(tracker));
      ann = await aPerson(app);
    });
    afterEach(() => {
      tracker.fake.clearFaults();
      tracker.fake.setProject({ issuesEnabled: true, archived: false });
    });
    afterAll(async () => {
      await app.close();
      await tracker.close();
    });

    const otherwise = async (environment: Record<string, string>) => {
      const other = await startTestApp(trackerEnvironment(tracker, environment), app);
      const issue = await createIssue(ann);
      const answer = await ann.on(other).post(issuePath(issue, 'sync/'));
      const ready = await other.http.get('/readyz').expect(200);
      await other.close();
      return { answer, warnings: ready.body.warnings };
    };

    it('with a wrong credential', async () => {
      const { answer, warnings } = await otherwise({ TRACKER_TOKEN: 'not-the-token' });
      expectProblem(answer, 502, 'tracker_auth_failed');
      expect(warnings).toEqual(['tracker_credentials']);
    });

    it('with a wrong project', async () => {
      const { answer, warnings } = await otherwise({ TRACKER_PROJECT: 'acme/nothing' });
      expectProblem(answer, 502, 'project_not_found');
      expect(warnings).toBeUndefined();
    });

    it('with disabled issues, before and after the first sync', async () => {
      const linked = await syncIssue(ann, await createIssue(ann));
      const issue = await createIssue(ann);
      tracker.fake.setProject({ issuesEnabled: false });
      for (const { id } of [linked, issue])
        expectProblem(await ann.post(issuePath({ id }, 'sync/')), 502, 'issues_disabled');
      tracker.fake.setProject({ issuesEnabled: true });
      await syncIssue(ann, linked);
      await syncIssue(ann, issue);
    });

    it('without a permission', async () => {
      const issue = await createIssue(ann);
      const body = { message: '403 Forbidden' };
      tracker.fake.fail({ kind: 'status', status: 403, body, on: { method: 'POST' } });
      expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'not_a_member');
    });

    it('for a single comment, and the next comments are sent', async () => {
      const issue = await syncIssue(ann, await createIssue(ann));
      for (const body of ['First', 'Second', 'Third'])
        await ann.post(issuePath(issue, 'comments/'), { body }).expect(201);
      const path = /\/(comments|notes)$/;
      tracker.fake.fail({
        kind: 'status',
        status: 422,
        body: { message: 'Spam' },
        on: { method: 'POST', path },
      });
      const answer = await ann.post(issuePath(issue, 'sync/'));
      expectProblem(answer, 422, 'tracker_rejected');
      expect(answer.body.errors).toEqual([{ field: 'external', message: 'Spam' }]);
      const remote = tracker.fake.issues().find(({ number }) => String(number) === issue.external?.id);
      expect(remote?.comments).toHaveLength(2);
      await syncIssue(ann, issue);
    });
  },
);

describe('GitHub', () => {
  let tracker: FakeTestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startFakeTracker('github');
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
  });
  afterAll(async () => {
    await app.close();
    await tracker.close();
  });
  const remoteOf = (id: string | undefined) =>
    tracker.fake.issues().find(({ number }) => String(number) === id);

  it('reports a locked issue; its fields are synced, and the credentials count as valid', async () => {
    const issue = await syncIssue(ann, await createIssue(ann));
    tracker.fake.editIssue(Number(issue.external?.id), { locked: true });
    await ann.post(issuePath(issue, 'comments/'), { body: 'Refused' }).expect(201);
    await ann.put(issuePath(issue), { title: 'Renamed' }).expect(200);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_locked');
    expect(remoteOf(issue.external?.id)).toMatchObject({ title: 'Renamed', comments: [] });
    expect((await app.http.get('/readyz').expect(200)).body.warnings).toBeUndefined();
    tracker.fake.editIssue(Number(issue.external?.id), { locked: false });
    await syncIssue(ann, issue);
    expect(remoteOf(issue.external?.id)?.comments).toHaveLength(1);
  });

  it('reports an archived repository', async () => {
    const issue = await createIssue(ann);
    tracker.fake.setProject({ archived: true });
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'project_archived');
    tracker.fake.setProject({ archived: false });
    await syncIssue(ann, issue);
  });

  it('receives cut texts with a notice if they exceed its limit; the local text stays unchanged', async () => {
    const description = `${'@octocat '.repeat(7_200)}the end`;
    const issue = await createIssue(ann, { description });
    await ann.post(issuePath(issue, 'comments/'), { body: description }).expect(201);
    const synced = await syncIssue(ann, issue);
    expect(synced.description === description).toBe(true);
    expect(synced).toMatchObject({ comments_count: 1, sync: { conflicts: [] } });
    const remote = remoteOf(synced.external?.id);
    for (const text of [remote?.body ?? '', remote?.comments[0]?.body ?? '']) {
      expect(text).toMatch(/\[cut: the whole text is in Tessera\]\n\n<!-- issues-sync:[\w:-]+ -->$/);
      expect([...text].length).toBeLessThanOrEqual(65_536);
      expect([...text].length).toBeGreaterThan(64_000);
    }
    expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
    await ann.put(issuePath(issue), { title: 'Renamed' }).expect(200);
    expect((await syncIssue(ann, issue)).description === description).toBe(true);
    await tracker.edit(synced.external?.id ?? '', { text: 'Shorter there' });
    expect((await syncIssue(ann, issue)).description === description).toBe(true);
    const { body } = await ann.get(issuePath(issue, 'sync/')).expect(200);
    expect(body.conflicts).toMatchObject([{ field: 'description', remote: 'Shorter there', kept: 'local' }]);
  });
});
