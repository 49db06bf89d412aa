import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueSchema, syncStateSchema } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import type { FarSide } from './far-side.ts';
import { createIssue, getIssue, historyOf, issuePath } from './issues.ts';
import { aPerson, type TestPerson } from './people.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import { trackerEnvironment } from './tracker-environment.ts';

/** Syncs an issue and answers how it then is. */
export async function syncIssue(person: TestPerson, issue: { id: string }): Promise<Issue> {
  const { body } = await person.post(issuePath(issue, 'sync/')).expect(200);
  return issueSchema.parse(body);
}

/** What every tracker must do, whoever is on the far side. */
export function describeSync(start: () => Promise<FarSide>): void {
  let far: FarSide;
  let app: TestApp;
  let ann: TestPerson;
  let staff: TestPerson;
  beforeAll(async () => {
    far = await start();
    app = await startTestApp(trackerEnvironment(far));
    ann = await aPerson(app);
    staff = await aPerson(app, { is_staff: true });
  });
  afterAll(async () => {
    await app.close();
    await far.close();
  });

  const counterpart = async (issue: Issue) => {
    const found = (await far.issues()).find(({ id }) => id === issue.external?.id);
    if (found === undefined) throw new Error('no counterpart');
    return found;
  };
  const markedWith = async (issue: Issue) =>
    (await far.issues()).filter(({ text }) => text.includes(`issues-sync:${issue.id}`));

  describe('the first sync', () => {
    it('creates the issue there, once, and shows it here', async () => {
      const issue = await createIssue(ann, { title: 'A leak', description: 'Water\nin the cellar.' });
      expect(issue.sync.state).toBe('not_synced');
      const synced = await syncIssue(ann, issue);
      expect(synced.external).toMatchObject({ provider: far.provider, id: expect.any(String) });
      expect(synced.external?.url).toContain(synced.external?.id);
      expect(synced.sync).toMatchObject({ state: 'synced', conflicts: [], last_error: null });
      expect(synced.sync.last_result).toMatchObject({ created: true });
      const remote = await counterpart(synced);
      expect(remote).toMatchObject({ title: 'A leak', isOpen: true });
      expect(remote.text).toMatch(/^Water\r?\nin the cellar\./);
      expect(synced).toMatchObject({ title: 'A leak', description: 'Water\nin the cellar.', status: 'OPEN' });
      expect(synced.links).toMatchObject([
        { type: 'external_issue', ref: `${far.provider}:${remote.id}`, url: synced.external?.url },
      ]);
      expect(await markedWith(issue)).toHaveLength(1);
      const list = await ann.get(`/api/v1/issues/?external=${far.provider}:${remote.id}`).expect(200);
      expect(list.body).toMatchObject([{ id: issue.id, external: synced.external, sync: synced.sync }]);
    });

    it('takes an issue to the state that it has', async () => {
      const issue = await createIssue(ann, { title: 'Done already', priority: 'HIGH' });
      await ann.post(issuePath(issue, 'status/'), { status: 'RESOLVED' }).expect(200);
      await ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200);
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({ status: 'CLOSED', priority: 'HIGH', sync: { conflicts: [] } });
      expect((await counterpart(synced)).isOpen).toBe(false);
    });

    it('calls nobody, refers to nothing and keeps every character of the text here', async () => {
      const description =
        'cc @octocat, see #7 and `@code` \u{1F469}\u200d\u{1F52C}\n\n<b>bold</b>   \n~~~\n@inside\n~~~';
      const issue = await createIssue(ann, { title: 'Ping @all about #1', description });
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({ title: 'Ping @all about #1', description });
      const { text } = await counterpart(synced);
      expect(text).not.toMatch(/@octocat|#7/);
      expect(text).toContain('\u{1F469}\u200d\u{1F52C}');
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
    });
  });

  describe('later syncs', () => {
    it('push what has changed here, and change nothing where nothing has', async () => {
      const issue = await createIssue(ann, { title: 'Old', description: 'Old text' });
      await syncIssue(ann, issue);
      await ann.put(issuePath(issue), { title: 'New', description: 'New text' }).expect(200);
      expect((await getIssue(ann, issue)).sync.state).toBe('changed');
      const synced = await syncIssue(ann, issue);
      expect(synced.sync.last_result).toMatchObject({
        created: false,
        pushed: ['title', 'description'],
        pulled: [],
      });
      const remote = await counterpart(synced);
      expect(remote.title).toBe('New');
      expect(remote.text).toMatch(/^New text/);
      const again = await syncIssue(ann, issue);
      expect(again.sync.last_result).toMatchObject({
        pushed: [],
        pulled: [],
        comments_pushed: 0,
        comments_pulled: 0,
      });
      expect(again).toMatchObject({ version: synced.version, updated_at: synced.updated_at });
    });

    it('follow a change of status or a comment, which shows at once', async () => {
      const issue = await createIssue(ann);
      await syncIssue(ann, issue);
      const { body } = await ann.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
      expect(body.sync.state).toBe('changed');
      expect((await syncIssue(ann, issue)).sync.state).toBe('synced');
      await ann.post(issuePath(issue, 'comments/'), { body: 'A comment' }).expect(201);
      expect((await getIssue(ann, issue)).sync.state).toBe('changed');
      expect((await syncIssue(ann, issue)).sync.state).toBe('synced');
    });

    it('pull what has changed there, with history, as the tracker', async () => {
      const issue = await createIssue(ann, { title: 'Mine', description: 'one\ntwo' });
      const { external } = await syncIssue(ann, issue);
      await far.edit(external?.id ?? '', { title: 'Theirs', text: 'one\r\nthree' });
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({
        title: 'Theirs',
        description: 'one\nthree',
        version: issue.version + 1,
      });
      expect(synced.sync.last_result).toMatchObject({ pulled: ['title', 'description'], pushed: [] });
      const { body } = await ann.get(issuePath(issue, 'activity/')).expect(200);
      expect(body).toMatchObject([
        { kind: 'created', origin: 'local' },
        { kind: 'updated', field: 'title', old: 'Mine', new: 'Theirs', actor: null, origin: far.provider },
        { kind: 'updated', field: 'description', actor: null, origin: far.provider },
      ]);
    });

    it('move the status both ways, by the rules of a person', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      await far.edit(external?.id ?? '', { state: far.words.done });
      const closed = await syncIssue(ann, issue);
      expect(['RESOLVED', 'CLOSED']).toContain(closed.status);
      expect(closed.sync.last_result?.pulled).toEqual(['status']);
      await ann.post(issuePath(issue, 'status/'), { status: 'REOPENED' }).expect(200);
      const reopened = await syncIssue(ann, issue);
      expect(reopened).toMatchObject({ status: 'REOPENED', sync: { last_result: { pushed: ['status'] } } });
      expect((await counterpart(reopened)).isOpen).toBe(true);
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
      expect((await historyOf(ann, issue)).map(({ kind }: { kind: string }) => kind)).toEqual([
        'created',
        'status_changed',
        'status_changed',
      ]);
    });
  });

  describe('a field that both sides have changed', () => {
    const clashed = async (title: string) => {
      const issue = await createIssue(ann, { title: 'Agreed' });
      const { external } = await syncIssue(ann, issue);
      await ann.put(issuePath(issue), { title }).expect(200);
      await far.edit(external?.id ?? '', { title: 'Their title' });
      return syncIssue(ann, issue);
    };

    it('keeps the value from here, and the other one in the conflicts and in the history', async () => {
      const synced = await clashed('My title');
      expect(synced.title).toBe('My title');
      expect((await counterpart(synced)).title).toBe('My title');
      const conflict = {
        field: 'title',
        local: 'My title',
        remote: 'Their title',
        base: 'Agreed',
        kept: 'local',
      };
      expect(synced.sync.conflicts).toMatchObject([{ ...conflict, reason: 'both_changed' }]);
      expect(await historyOf(ann, synced)).toContainEqual(
        expect.objectContaining({
          kind: 'sync_conflict',
          field: 'title',
          old: 'Their title',
          new: 'My title',
        }),
      );
      expect((await syncIssue(ann, synced)).sync.conflicts).toEqual(synced.sync.conflicts);
    });

    it('can be taken back by staff, with one call', async () => {
      const synced = await clashed('My other title');
      const [conflict] = synced.sync.conflicts;
      const path = issuePath(synced, `sync/conflicts/${conflict?.id}/`);
      expectProblem(await ann.post(path, { keep: 'remote' }), 403, 'forbidden');
      const { body } = await staff.post(path, { keep: 'remote' }).expect(200);
      expect(body).toMatchObject({ title: 'Their title', sync: { conflicts: [] } });
      expectProblem(await staff.post(path, { keep: 'remote' }), 404, 'conflict_not_found');
      const after = await syncIssue(ann, synced);
      expect(after).toMatchObject({ title: 'Their title', sync: { conflicts: [], state: 'synced' } });
      expect((await counterpart(after)).title).toBe('Their title');
    });
  });

  describe('comments', () => {
    it('go both ways, once, with their authors', async () => {
      const issue = await createIssue(ann);
      await ann.post(issuePath(issue, 'comments/'), { body: 'From here, @octocat' }).expect(201);
      const { external } = await syncIssue(ann, issue);
      await far.comment(external?.id ?? '', 'From there');
      const synced = await syncIssue(ann, issue);
      expect(synced.comments).toMatchObject([
        { body: 'From here, @octocat', origin: 'local', external: null },
        { body: 'From there', origin: far.provider, author: null, external: { author: expect.any(String) } },
      ]);
      expect(synced).toMatchObject({ comments_count: 2, sync: { last_result: { comments_pulled: 1 } } });
      const { comments } = await counterpart(synced);
      expect(comments).toHaveLength(2);
      expect(comments[0]?.body).toContain(ann.username);
      expect(comments[0]?.body).toContain('From here');
      expect(comments[0]?.body).not.toContain('@octocat');
      const again = await syncIssue(ann, issue);
      expect(again.sync.last_result).toMatchObject({ comments_pushed: 0, comments_pulled: 0 });
      expect((await counterpart(again)).comments).toHaveLength(2);
    });

    it('take a quotation of ours for what it is: somebody else’s words', async () => {
      const issue = await createIssue(ann);
      await ann.post(issuePath(issue, 'comments/'), { body: 'First' }).expect(201);
      const synced = await syncIssue(ann, issue);
      const [ours] = (await counterpart(synced)).comments;
      const quoted = (ours?.body ?? '').replaceAll(/^/gm, '> ');
      await far.comment(synced.external?.id ?? '', `${quoted}\n\nI agree.`);
      expect((await syncIssue(ann, issue)).comments.map(({ body }) => body.includes('I agree.'))).toEqual([
        false,
        true,
      ]);
    });

    it('are read to the last one', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      const texts = Array.from({ length: far.commentsPage + 5 }, (_, index) => `Comment ${index + 1}`);
      for (const text of texts) await far.comment(external?.id ?? '', text);
      const synced = await syncIssue(ann, issue);
      expect(synced.comments.map(({ body }) => body)).toEqual(texts);
    });
  });

  describe('the counterpart', () => {
    it('that is gone is told of, and the issue stays usable', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      await far.remove(external?.id ?? '');
      expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_gone');
      expect((await getIssue(ann, issue)).sync).toMatchObject({
        state: 'failed',
        last_error: 'remote_gone',
        next_attempt_at: null,
      });
      await ann.put(issuePath(issue), { title: 'Still here' }).expect(200);
      const { body } = await staff.delete(issuePath(issue, 'external/')).expect(200);
      expect(body).toMatchObject({ external: null, sync: { state: 'not_synced' }, links: [] });
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ created: true });
      expect(await markedWith(issue)).toHaveLength(1);
    });

    it('is chosen by staff, and nobody else’s', async () => {
      const issue = await createIssue(ann, { title: 'One', description: '' });
      const { external } = await syncIssue(ann, issue);
      await staff.delete(issuePath(issue, 'external/')).expect(200);
      const other = await createIssue(ann, { title: 'Other', description: '' });
      expectProblem(await ann.put(issuePath(other, 'external/'), { id: external?.id }), 403, 'forbidden');
      expectProblem(await staff.put(issuePath(other, 'external/'), { id: '999999' }), 409, 'remote_gone');
      const attached = await staff
        .put(issuePath(other, 'external/'), { id: Number(external?.id) })
        .expect(200);
      expect(attached.body.external).toMatchObject({ id: external?.id });
      expectProblem(
        await staff.put(issuePath(issue, 'external/'), { id: external?.id }),
        409,
        'external_taken',
      );
      const synced = await syncIssue(ann, other);
      expect(synced).toMatchObject({
        title: 'Other',
        sync: { conflicts: [{ remote: 'One', kept: 'local' }] },
      });
      expect((await counterpart(synced)).title).toBe('Other');
    });
  });

  it('is done by one of ten that ask at the same time', async () => {
    const issue = await createIssue(ann);
    const second = await startTestApp(trackerEnvironment(far), app);
    const askers = [ann, ann.on(second)];
    // Both have their connections, and the tracker takes its time: all ten ask while the first one is at work.
    await Promise.all(askers.map((asker) => getIssue(asker, issue)));
    far.slowDown();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => askers[index % 2]?.post(issuePath(issue, 'sync/'))),
    );
    await second.close();
    const statuses = answers.map((answer) => answer?.status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    for (const answer of answers) {
      if (answer?.status === 409) expectProblem(answer, 409, 'sync_in_progress');
    }
    expect(await markedWith(issue)).toHaveLength(1);
  });

  it('answers what its description says', async () => {
    const issue = await createIssue(ann);
    expect(syncStateSchema.parse((await syncIssue(ann, issue)).sync).state).toBe('synced');
  });
}
