import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueSchema, syncStateSchema } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import { publicBaseUrl } from './environment.ts';
import { aPng, uploadFile } from './files.ts';
import { createIssue, getIssue, historyOf, issuePath, rowOf } from './issues.ts';
import { followLinks } from './pages.ts';
import { aPerson, type TestPerson } from './people.ts';
import { describeLabelSync } from './sync-labels.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import type { TestTracker } from './test-tracker.ts';
import { trackerEnvironment } from './tracker-environment.ts';

/** Syncs an issue and returns it. */
export async function syncIssue(person: TestPerson, issue: { id: string }): Promise<Issue> {
  const { body } = await person.post(issuePath(issue, 'sync/')).expect(200);
  return issueSchema.parse(body);
}

/** The tests that every tracker must pass. */
export function describeSync(
  start: () => Promise<TestTracker>,
  { hasLabels = false }: { hasLabels?: boolean } = {},
): void {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  let staff: TestPerson;
  beforeAll(async () => {
    tracker = await start();
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
    staff = await aPerson(app, { is_staff: true });
  });
  afterAll(async () => {
    await app.close();
    await tracker.close();
  });

  const sync = (issue: { id: string }) => syncIssue(ann, issue);
  const linkedIssueOf = async (issue: Issue) => {
    const found = (await tracker.issues()).find(({ id }) => id === issue.external?.id);
    if (found === undefined) throw new Error('the tracker has no linked issue');
    return found;
  };
  const markedWith = async (issue: Issue) =>
    (await tracker.issues()).filter(({ text }) => text.includes(`issues-sync:${issue.id}`));

  describe('the first sync', () => {
    it('creates the issue in the tracker once and shows the link in the issue', async () => {
      const issue = await createIssue(ann, { title: 'A leak', description: 'Water\nin the cellar.' });
      expect(issue.sync.state).toBe('not_synced');
      const synced = await syncIssue(ann, issue);
      expect(synced.external).toMatchObject({ provider: tracker.provider, id: expect.any(String) });
      expect(synced.external?.url).toContain(synced.external?.id);
      expect(synced.sync).toMatchObject({ state: 'synced', conflicts: [], last_error: null });
      expect(synced.sync.last_result).toMatchObject({ created: true });
      const remote = await linkedIssueOf(synced);
      expect(remote).toMatchObject({ title: 'A leak', isOpen: true });
      expect(remote.text).toMatch(/^Water\r?\nin the cellar\./);
      expect(synced).toMatchObject({ title: 'A leak', description: 'Water\nin the cellar.', status: 'OPEN' });
      expect(synced.links).toMatchObject([
        { type: 'external_issue', ref: `${tracker.provider}:${remote.id}`, url: synced.external?.url },
      ]);
      expect(await markedWith(issue)).toHaveLength(1);
      const list = await ann.get(`/api/v1/issues/?external=${tracker.provider}:${remote.id}`).expect(200);
      expect(list.body).toEqual([rowOf(synced)]);
    });

    it('does not prevent a change that is based on the state before it', async () => {
      const issue = await createIssue(ann, { title: 'Before' });
      const { etag = '' } = (await ann.get(issuePath(issue))).headers;
      await sync(issue);
      expect((await ann.get(issuePath(issue))).headers.etag).not.toBe(etag);
      await ann.patch(issuePath(issue), { title: 'After' }).set('If-Match', etag).expect(200);
    });

    it('applies the current status in the tracker', async () => {
      const issue = await createIssue(ann, { title: 'Done already', priority: 'HIGH' });
      await ann.post(issuePath(issue, 'status/'), { status: 'RESOLVED' }).expect(200);
      await ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200);
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({ status: 'CLOSED', priority: 'HIGH', sync: { conflicts: [] } });
      expect((await linkedIssueOf(synced)).isOpen).toBe(false);
    });

    it('names the page of the issue for each file, and keeps the local texts', async () => {
      const [shot, log] = [await uploadFile(ann, aPng(4, 3), 'shot [1].png'), await uploadFile(ann)];
      const description = `Look: ${shot.markdown}\n\n[the log](attachment:${log.id}) and attachment:${log.id}`;
      const issue = await createIssue(ann, { title: 'With files', description });
      await ann.post(issuePath(issue, 'comments/'), { body: `Again ${shot.markdown}` }).expect(201);
      const synced = await syncIssue(ann, issue);
      const page = `${publicBaseUrl}/issues/${issue.id}`;
      const remote = await linkedIssueOf(synced);
      expect(remote.text.replace(/\r\n/g, '\n')).toContain(
        `Look: [shot \\[1\\].png](${page}#picture-${shot.id})\n\n[the log](${page}#attachment-${log.id}) and ${page}#attachment-${log.id}`,
      );
      expect(remote.comments[0]?.body).toContain(`](${page}#picture-${shot.id})`);
      const again = await syncIssue(ann, issue);
      expect(again).toMatchObject({ description, sync: { state: 'synced', conflicts: [] } });
      expect(again.sync.last_result).toMatchObject({ pushed: [], pulled: [], comments_pulled: 0 });
      await tracker.edit(remote.id, { text: remote.text.replace('Look:', 'See:') });
      expect(await syncIssue(ann, issue)).toMatchObject({
        description: description.replace('Look:', 'See:'),
      });
    });

    it('mentions no user, references no issue and keeps the local text unchanged', async () => {
      const description =
        'cc @octocat, see #7 and `@code` \u{1F469}\u200d\u{1F52C}\n\n<b>bold</b>   \n~~~\n@inside\n~~~';
      const issue = await createIssue(ann, { title: 'Ping @all about #1', description });
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({ title: 'Ping @all about #1', description });
      const { text } = await linkedIssueOf(synced);
      expect(text).not.toMatch(/@octocat|#7/);
      expect(text).toContain('\u{1F469}\u200d\u{1F52C}');
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
    });
  });

  describe('later syncs', () => {
    it('push local changes, and change nothing without changes', async () => {
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
      const remote = await linkedIssueOf(synced);
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

    it('follow a status change or a comment, which the issue shows as pending immediately', async () => {
      const issue = await createIssue(ann);
      await syncIssue(ann, issue);
      const { body } = await ann.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
      expect(body.sync.state).toBe('changed');
      expect((await syncIssue(ann, issue)).sync.state).toBe('synced');
      await ann.post(issuePath(issue, 'comments/'), { body: 'A comment' }).expect(201);
      expect((await getIssue(ann, issue)).sync.state).toBe('changed');
      expect((await syncIssue(ann, issue)).sync.state).toBe('synced');
    });

    it('pull changes of the tracker with history entries of the tracker', async () => {
      const issue = await createIssue(ann, { title: 'Mine', description: 'one\ntwo' });
      const { external } = await syncIssue(ann, issue);
      await tracker.edit(external?.id ?? '', { title: 'Theirs', text: 'one\r\nthree' });
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
        {
          kind: 'updated',
          field: 'title',
          old: 'Mine',
          new: 'Theirs',
          actor: null,
          origin: tracker.provider,
        },
        { kind: 'updated', field: 'description', actor: null, origin: tracker.provider },
      ]);
    });

    it('sync the status in both directions within the workflow', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      await tracker.edit(external?.id ?? '', { state: tracker.words.done });
      const closed = await syncIssue(ann, issue);
      expect(['RESOLVED', 'CLOSED']).toContain(closed.status);
      expect(closed.sync.last_result?.pulled).toEqual(['status']);
      await ann.post(issuePath(issue, 'status/'), { status: 'REOPENED' }).expect(200);
      const reopened = await syncIssue(ann, issue);
      expect(reopened).toMatchObject({ status: 'REOPENED', sync: { last_result: { pushed: ['status'] } } });
      expect((await linkedIssueOf(reopened)).isOpen).toBe(true);
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
      expect((await historyOf(ann, issue)).map(({ kind }: { kind: string }) => kind)).toEqual([
        'created',
        'status_changed',
        'status_changed',
      ]);
    });
  });

  describe('a field changed on both sides', () => {
    const clashed = async (title: string) => {
      const issue = await createIssue(ann, { title: 'Agreed' });
      const { external } = await syncIssue(ann, issue);
      await ann.put(issuePath(issue), { title }).expect(200);
      await tracker.edit(external?.id ?? '', { title: 'Their title' });
      return syncIssue(ann, issue);
    };

    it('keeps the local value and stores the other one in the conflicts and the history', async () => {
      const synced = await clashed('My title');
      expect(synced.title).toBe('My title');
      expect((await linkedIssueOf(synced)).title).toBe('My title');
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

    it('can be reverted by staff with one request', async () => {
      const synced = await clashed('My other title');
      const [conflict] = synced.sync.conflicts;
      const path = issuePath(synced, `sync/conflicts/${conflict?.id}/`);
      expectProblem(await ann.post(path, { keep: 'remote' }), 403, 'forbidden');
      const { body } = await staff.post(path, { keep: 'remote' }).expect(200);
      expect(body).toMatchObject({ title: 'Their title', sync: { conflicts: [] } });
      expectProblem(await staff.post(path, { keep: 'remote' }), 404, 'conflict_not_found');
      const after = await syncIssue(ann, synced);
      expect(after).toMatchObject({ title: 'Their title', sync: { conflicts: [], state: 'synced' } });
      expect((await linkedIssueOf(after)).title).toBe('Their title');
    });

    it('has the status of the tracker on both sides after staff reverted the decision', async () => {
      const issue = await createIssue(ann);
      const setStatus = (status: string) => ann.post(issuePath(issue, 'status/'), { status }).expect(200);
      await setStatus('RESOLVED');
      const { external } = await syncIssue(ann, issue);
      await setStatus('CLOSED');
      await tracker.edit(external?.id ?? '', { state: tracker.words.open });
      const clashed = await syncIssue(ann, issue);
      expect(clashed).toMatchObject({
        status: 'CLOSED',
        sync: {
          conflicts: [{ field: 'status', reason: 'both_changed', base: external?.state, kept: 'local' }],
        },
      });
      expect((await linkedIssueOf(clashed)).isOpen).toBe(false);
      const [conflict] = clashed.sync.conflicts;
      const path = issuePath(issue, `sync/conflicts/${conflict?.id}/`);
      const { body } = await staff.post(path, { keep: 'remote' }).expect(200);
      expect(body.sync.conflicts).toEqual([]);
      const after = await syncIssue(ann, issue);
      expect(after).toMatchObject({
        status: body.status,
        external: { state: conflict?.remote },
        sync: { conflicts: [], last_result: { pushed: ['status'], pulled: [] } },
      });
      expect((await linkedIssueOf(after)).isOpen).toBe(true);
    });
  });

  describe('labels', () => {
    if (hasLabels) {
      describeLabelSync(() => {
        if (tracker.labels === undefined) throw new Error('the tracker has no labels');
        return { labels: tracker.labels, ann, staff, sync };
      });
    } else {
      it('stay here', async () => {
        await staff.post('/api/v1/labels/', { name: 'Only here' }).expect(201);
        const issue = await createIssue(ann, { labels: ['only here'] });
        const synced = await sync(issue);
        expect(synced.sync.last_result).toMatchObject({ pushed: [], pulled: [] });
        expect(synced.labels).toEqual(issue.labels);
      });
    }
  });

  describe('comments', () => {
    it('are synced in both directions once with their authors', async () => {
      const issue = await createIssue(ann);
      await ann.post(issuePath(issue, 'comments/'), { body: 'From here, @octocat' }).expect(201);
      const { external } = await syncIssue(ann, issue);
      await tracker.comment(external?.id ?? '', 'From there');
      const synced = await syncIssue(ann, issue);
      expect(synced.comments).toMatchObject([
        { body: 'From here, @octocat', origin: 'local', external: null },
        {
          body: 'From there',
          origin: tracker.provider,
          author: null,
          external: { author: expect.any(String) },
        },
      ]);
      expect(synced).toMatchObject({ comments_count: 2, sync: { last_result: { comments_pulled: 1 } } });
      const { comments } = await linkedIssueOf(synced);
      expect(comments).toHaveLength(2);
      expect(comments[0]?.body).toContain(ann.username);
      expect(comments[0]?.body).toContain('From here');
      expect(comments[0]?.body).not.toContain('@octocat');
      const again = await syncIssue(ann, issue);
      expect(again.sync.last_result).toMatchObject({ comments_pushed: 0, comments_pulled: 0 });
      expect((await linkedIssueOf(again)).comments).toHaveLength(2);
    });

    it('of other authors that quote a synced comment are pulled as new comments', async () => {
      const issue = await createIssue(ann);
      await ann.post(issuePath(issue, 'comments/'), { body: 'First' }).expect(201);
      const synced = await syncIssue(ann, issue);
      const [ours] = (await linkedIssueOf(synced)).comments;
      const quoted = (ours?.body ?? '').replaceAll(/^/gm, '> ');
      await tracker.comment(synced.external?.id ?? '', `${quoted}\n\nI agree.`);
      expect((await syncIssue(ann, issue)).comments.map(({ body }) => body.includes('I agree.'))).toEqual([
        false,
        true,
      ]);
    });

    it('stay unchanged in the tracker when they are changed or deleted here, and are not copied back', async () => {
      const issue = await createIssue(ann);
      const add = async (body: string) => {
        const { body: added } = await ann.post(issuePath(issue, 'comments/'), { body }).expect(201);
        return issuePath(issue, `comments/${added.id}/`);
      };
      const [changed, removed] = [await add('To change'), await add('To delete')];
      const { external } = await syncIssue(ann, issue);
      await ann.patch(changed, { body: 'Changed' }).expect(200);
      await ann.patch(changed, { body: 'Changed again' }).expect(200);
      await ann.delete(removed).expect(204);
      const [later, never] = [await add('Not sent yet'), await add('Never sent')];
      await ann.patch(later, { body: 'Sent later' }).expect(200);
      await ann.delete(never).expect(204);
      await tracker.comment(external?.id ?? '', 'From there');
      const synced = await syncIssue(ann, issue);
      expect(synced.sync.last_result).toMatchObject({ comments_pushed: 1, comments_pulled: 1 });
      const theirs = synced.comments.find(({ origin }) => origin !== 'local');
      const path = issuePath(issue, `comments/${theirs?.id}/`);
      for (const person of [ann, staff])
        expectProblem(await person.patch(path, { body: 'x' }), 409, 'external_comment');
      expectProblem(await ann.delete(path), 403, 'forbidden');
      await staff.delete(path).expect(204);

      await staff.delete(issuePath(issue, 'external/')).expect(200);
      await staff.put(issuePath(issue, 'external/'), { id: external?.id }).expect(200);
      const attached = await syncIssue(ann, issue);
      expect(attached.comments.map(({ body }) => body)).toEqual(['Changed again', 'Sent later']);
      const there = (await linkedIssueOf(attached)).comments.map(({ body }) => body);
      expect(there).toHaveLength(4);
      for (const text of ['To change', 'To delete', 'Sent later', 'From there'])
        expect(there.filter((body) => body.includes(text))).toHaveLength(1);
    });

    it('are read on all pages', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      const texts = Array.from({ length: tracker.commentsPage + 5 }, (_, index) => `Comment ${index + 1}`);
      for (const text of texts) await tracker.comment(external?.id ?? '', text);
      expect((await syncIssue(ann, issue)).comments_count).toBe(texts.length);
      const pages = await followLinks<{ body: string }>(ann, issuePath(issue, 'comments/'));
      expect(pages.flat().map(({ body }) => body)).toEqual(texts);
    });
  });

  describe('the linked issue in the tracker', () => {
    it('is reported as missing after its deletion, and the local issue stays usable', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      await tracker.remove(external?.id ?? '');
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

    it('has each comment once when it is attached again', async () => {
      const issue = await createIssue(ann);
      await ann.post(issuePath(issue, 'comments/'), { body: 'from here, to @all' }).expect(201);
      const { external } = await syncIssue(ann, issue);
      await tracker.comment(external?.id ?? '', 'from there');
      await syncIssue(ann, issue);
      await staff.delete(issuePath(issue, 'external/')).expect(200);
      await staff.put(issuePath(issue, 'external/'), { id: external?.id }).expect(200);
      const attached = await syncIssue(ann, issue);
      expect(attached.comments).toHaveLength(2);
      expect((await linkedIssueOf(attached)).comments).toHaveLength(2);
    });

    it('can be chosen by staff unless another issue is linked to it', async () => {
      const issue = await createIssue(ann, { title: 'One', description: '' });
      const { external } = await syncIssue(ann, issue);
      await staff.delete(issuePath(issue, 'external/')).expect(200);
      const other = await createIssue(ann, { title: 'Other', description: '' });
      const refusal = await ann.put(issuePath(other, 'external/'), { id: external?.id });
      expectProblem(refusal, 403, 'forbidden');
      expect(refusal.body.detail).toBe('Only staff may do this.');
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
      expect((await linkedIssueOf(synced)).title).toBe('Other');
    });
  });

  it('runs once for ten concurrent requests, and the others get 409', async () => {
    const issue = await createIssue(ann);
    const second = await startTestApp(trackerEnvironment(tracker), app);
    const askers = [ann, ann.on(second)];
    // Both instances are connected and the tracker is slow, so all ten requests overlap.
    await Promise.all(askers.map((asker) => getIssue(asker, issue)));
    tracker.slowDown();
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

  it('returns a state that matches the API document', async () => {
    const issue = await createIssue(ann);
    expect(syncStateSchema.parse((await syncIssue(ann, issue)).sync).state).toBe('synced');
  });
}
