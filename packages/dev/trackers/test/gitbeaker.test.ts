import { Gitlab } from '@gitbeaker/rest';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FakeTracker, startGitLab } from '../src/fakes.ts';

const PROJECT = 'tessera/tracker';

let gitlab: FakeTracker;
let api: InstanceType<typeof Gitlab>;

beforeEach(async () => {
  gitlab = await startGitLab();
  api = new Gitlab({ host: gitlab.url, token: gitlab.token });
});

afterEach(async () => {
  await gitlab.close();
});

describe('@gitbeaker/rest against the fake GitLab', () => {
  it('creates, reads, closes, reopens and relabels', async () => {
    const created = await api.Issues.create(PROJECT, 'Printer', {
      description: 'on\nfire',
      labels: 'priority::high',
    });
    const read = await api.Issues.show(created.iid, { projectId: PROJECT });
    const closed = await api.Issues.edit(PROJECT, created.iid, { stateEvent: 'close' });
    const reopened = await api.Issues.edit(PROJECT, created.iid, {
      stateEvent: 'reopen',
      addLabels: 'later',
    });

    expect(read).toEqual(created);
    expect(created).toMatchObject({ title: 'Printer', description: 'on\nfire', labels: ['priority::high'] });
    expect(closed).toMatchObject({ state: 'closed', closed_by: { username: gitlab.botLogin } });
    expect(reopened).toMatchObject({ state: 'opened', labels: ['priority::high', 'later'] });
    expect((await api.Users.showCurrentUser()).username).toBe(gitlab.botLogin);
  });

  it('reads all pages of issues and notes, and finds a marker', async () => {
    for (let n = 1; n <= 7; n += 1)
      await api.Issues.create(PROJECT, `${n}`, { description: `<!-- m:${n} -->` });
    for (let n = 1; n <= 4; n += 1) await api.IssueNotes.create(PROJECT, 1, `${n}`);
    await api.Issues.edit(PROJECT, 1, { title: 'Uno' });
    const before = gitlab.requests.length;
    const issues = await api.Issues.all({
      projectId: PROJECT,
      perPage: 3,
      orderBy: 'created_at',
      sort: 'asc',
    });
    const notes = await api.IssueNotes.all(PROJECT, 1, { perPage: 2, sort: 'asc' });
    const requests = gitlab.requests.length - before;
    const found = await api.Issues.all({ projectId: PROJECT, search: '<!-- m:4 -->', in: 'description' });

    expect(issues.map(({ iid }) => iid)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(notes.map(({ system }) => system)).toEqual([false, false, false, false, true]);
    expect(requests).toBe(3 + 3);
    expect(found.map(({ iid }) => iid)).toEqual([4]);
  });

  it("gets GitLab's errors", async () => {
    const stranger = new Gitlab({ host: gitlab.url, token: 'wrong' });
    const status = async (request: Promise<unknown>) => {
      const error = await request.then(
        () => undefined,
        (reason: { cause: { response: Response; description: string } }) => reason.cause,
      );
      return [error?.response.status, error?.description];
    };

    expect(await status(stranger.Issues.all({ projectId: PROJECT }))).toEqual([401, '401 Unauthorized']);
    expect(await status(api.Issues.show(9, { projectId: PROJECT }))).toEqual([404, '404 Not found']);
    expect(await status(api.Issues.all({ projectId: 'a/b' }))).toEqual([404, '404 Project Not Found']);
    expect(await status(api.Issues.create(PROJECT, ' '))).toEqual([
      400,
      expect.stringContaining("can't be blank"),
    ]);
  });
});
