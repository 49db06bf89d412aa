import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FakeTracker, startGitea } from '../src/fakes.ts';
import { linked, send } from './support/client.ts';

const REPOSITORY = '/api/v1/repos/tessera/tracker';
const ISSUES = `${REPOSITORY}/issues`;

let gitea: FakeTracker;

beforeEach(async () => {
  gitea = await startGitea();
});

afterEach(async () => {
  await gitea.close();
});

const create = (title: string, more: object = {}) =>
  send(gitea, 'POST', ISSUES, { body: { title, ...more } });
const patch = (body: object) => send(gitea, 'PATCH', `${ISSUES}/1`, { body });
const label = async (name: string) =>
  (await send(gitea, 'POST', `${REPOSITORY}/labels`, { body: { name, color: '#ff0000' } })).body;

describe('POST /repos/{owner}/{repo}/issues', () => {
  it('201s with the issue by the bot', async () => {
    const reply = await create('Printer', { body: 'on\nfire' });

    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({
      number: 1,
      title: 'Printer',
      body: 'on\nfire',
      state: 'open',
      pull_request: null,
      content_version: 0,
      user: { login: gitea.botLogin },
    });
    expect(reply.body.id).not.toBe(1);
    expect(gitea.issues()).toMatchObject([{ number: 1, state: 'open', labels: [] }]);
  });

  it('accepts labels of the organization, which the repository does not list', async () => {
    expect((await send(gitea, 'GET', '/api/v1/orgs/tessera/labels')).status).toBe(404);
    gitea.createLabel('Theirs', '00ff00', { ofOwner: true });
    const { body } = await send(gitea, 'GET', '/api/v1/orgs/tessera/labels');

    expect(body).toMatchObject([{ name: 'Theirs', color: '00ff00' }]);
    expect((await send(gitea, 'GET', `${REPOSITORY}/labels`)).body).toEqual([]);
    expect((await create('One', { labels: [body[0]?.id] })).body.labels).toMatchObject([{ name: 'Theirs' }]);
  });

  it('accepts existing labels by id only', async () => {
    const { id } = await label('priority/high');
    const { body } = await create('One', { labels: [id, 1, 'priority/high'] });

    expect(body.labels).toMatchObject([{ id, name: 'priority/high', color: 'ff0000' }]);
  });

  it.each([
    ['no title', {}, '[Title]: Required'],
    ['a blank title', { title: ' ' }, '[Title]: Required'],
    ['a body that is not JSON', '{', '[]: invalid character'],
  ])('422s on %s', async (_, body, message) => {
    const reply = await send(gitea, 'POST', ISSUES, { body });

    expect(reply.status).toBe(422);
    expect(reply.body).toEqual({ message, url: `${gitea.url}/api/swagger` });
  });
});

describe('PATCH /repos/{owner}/{repo}/issues/{index}', () => {
  it('answers 201, closes, reopens, and ignores labels and an empty title', async () => {
    await create('One');
    const closed = await patch({ state: 'closed', title: '', labels: [1] });

    expect(closed.status).toBe(201);
    expect(closed.body).toMatchObject({ title: 'One', state: 'closed', labels: [] });
    expect(closed.body.closed_at).not.toBeNull();
    expect((await patch({ state: 'open' })).body).toMatchObject({ state: 'open', closed_at: null });
    expect((await patch({ state: 'gone' })).status).toBe(412);
  });

  it('409s on a stale content_version and changes nothing', async () => {
    await create('One', { body: 'a' });
    gitea.editIssue(1, { body: 'theirs' });
    const stale = await patch({ title: 'Uno', body: 'mine', state: 'closed', content_version: 0 });

    expect(stale.status).toBe(409);
    expect(stale.body.message).toBe('the issue is already changed');
    expect(gitea.issues()).toMatchObject([{ title: 'One', body: 'theirs', state: 'open' }]);
    expect((await patch({ body: 'mine', content_version: 1 })).body).toMatchObject({ content_version: 2 });
  });

  it('increments content_version for text changes only, and accepts edits without one', async () => {
    await create('One', { body: 'a' });
    await patch({ title: 'Uno', state: 'closed' });
    await patch({ body: 'a' });

    expect((await patch({ body: 'b' })).body.content_version).toBe(1);
  });

  it('has no content_version as a Forgejo', async () => {
    const forgejo = await startGitea({ contentVersion: false });
    try {
      await send(forgejo, 'POST', ISSUES, { body: { title: 'One' } });
      const { status, body } = await send(forgejo, 'PATCH', `${ISSUES}/1`, {
        body: { body: 'b', content_version: 7 },
      });

      expect(status).toBe(201);
      expect(body).not.toHaveProperty('content_version');
    } finally {
      await forgejo.close();
    }
  });
});

describe('GET /repos/{owner}/{repo}/issues', () => {
  it('pages with Link and X-Total-Count, newest first, open issues by default', async () => {
    for (const title of ['1', '2', '3', '4', '5', '6']) await create(title);
    gitea.editIssue(6, { state: 'closed' });
    const first = await send(gitea, 'GET', `${ISSUES}?limit=2`);
    const second = await send(gitea, 'GET', linked(first, 'next') ?? '');
    const last = await send(gitea, 'GET', linked(first, 'last') ?? '');

    expect(first.body).toMatchObject([{ title: '5' }, { title: '4' }]);
    expect(first.headers.get('x-total-count')).toBe('5');
    expect(second.body).toMatchObject([{ title: '3' }, { title: '2' }]);
    expect(last.body).toMatchObject([{ title: '1' }]);
    expect(linked(last, 'next')).toBeUndefined();
    expect((await send(gitea, 'GET', `${ISSUES}?state=all`)).body).toHaveLength(6);
  });

  it('limits a page to 50', async () => {
    for (let n = 0; n < 51; n += 1) await create(`${n}`);

    expect((await send(gitea, 'GET', `${ISSUES}?limit=100`)).body).toHaveLength(50);
    expect((await send(gitea, 'GET', ISSUES)).body).toHaveLength(30);
  });

  it('filters by creator and time, 404s on an unknown creator, 501s on parameters that Gitea ignores', async () => {
    await create('One');
    const list = (query: string) => send(gitea, 'GET', `${ISSUES}?${query}`);

    expect((await list(`created_by=${gitea.botLogin}&since=2001-01-01T00:00:00Z`)).body).toHaveLength(1);
    expect((await list('since=2999-01-01T00:00:00Z')).body).toEqual([]);
    expect((await list('created_by=stranger')).status).toBe(404);
    expect((await list('creator=stranger')).status).toBe(501);
  });

  it('includes the pull request unless only issues are requested', async () => {
    const other = await startGitea({ withPullRequest: true });
    try {
      expect((await send(other, 'GET', ISSUES)).body).toMatchObject([{ pull_request: { merged: false } }]);
      expect((await send(other, 'GET', `${ISSUES}?type=issues`)).body).toEqual([]);
      expect(other.issues()).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('comments', () => {
  it('are returned all at once, oldest first, for every page', async () => {
    await create('One');
    const added = await send(gitea, 'POST', `${ISSUES}/1/comments`, { body: { body: 'mine' } });
    for (let n = 0; n < 60; n += 1) gitea.addComment(1, `${n}`, 'ann');
    const path = `${ISSUES}/comments/${added.body.id}`;
    const page = await send(gitea, 'GET', `${ISSUES}/1/comments?limit=10&page=2`);
    const edited = await send(gitea, 'PATCH', path, { body: { body: 'mine too' } });

    expect(added.status).toBe(201);
    expect(page.body).toHaveLength(61);
    expect(page.body[0]).toMatchObject({ body: 'mine', user: { login: gitea.botLogin } });
    expect(page.headers.get('link')).toBeNull();
    expect(edited.body).toEqual((await send(gitea, 'GET', path)).body);
    expect(gitea.issues()[0]?.comments[0]?.body).toBe('mine too');
  });

  it('422s on an empty one', async () => {
    await create('One');
    const reply = await send(gitea, 'POST', `${ISSUES}/1/comments`, { body: { body: '' } });

    expect([reply.status, reply.body.message]).toEqual([422, '[Body]: Required']);
  });
});

describe('labels', () => {
  it('are created, listed, added to an issue by id or name, and removed', async () => {
    const [high, bug] = [await label('high'), await label('bug')];
    await create('One');
    const path = `${ISSUES}/1/labels`;
    const put = await send(gitea, 'PUT', path, { body: { labels: ['high', 'bug', 'unknown'] } });
    await send(gitea, 'DELETE', `${path}/${bug.id}`);

    expect((await send(gitea, 'GET', `${REPOSITORY}/labels`)).body).toEqual([high, bug]);
    expect(put.body).toEqual([high, bug]);
    expect((await send(gitea, 'GET', path)).body).toEqual([high]);
    expect((await send(gitea, 'POST', path, { body: { labels: ['bug'] } })).body).toEqual([high, bug]);
    expect((await send(gitea, 'DELETE', path)).status).toBe(204);
    expect(gitea.issues()).toMatchObject([{ labels: [] }]);
    expect((await send(gitea, 'POST', path, { body: { labels: [high.id] } })).body).toEqual([high]);
  });

  it('422s on the removal of an unknown one, and 400s on ids and names together', async () => {
    const { id } = await label('high');
    await create('One');
    const path = `${ISSUES}/1/labels`;

    expect((await send(gitea, 'DELETE', `${path}/1`)).status).toBe(422);
    expect((await send(gitea, 'POST', path, { body: { labels: [id, 'high'] } })).status).toBe(400);
  });

  it('do not exist after a silent drop', async () => {
    gitea.fail({ kind: 'silent_drop' });
    const dropped = await label('lost');
    const kept = await label('kept');

    expect(dropped.name).toBe('lost');
    expect(kept.id).not.toBe(dropped.id);
    expect((await send(gitea, 'GET', `${REPOSITORY}/labels`)).body).toEqual([kept]);
  });
});

describe('errors and authentication', () => {
  it('404s for a deleted issue, another repository and another path', async () => {
    await create('One');
    gitea.deleteIssue(1);
    for (const path of [
      `${ISSUES}/1`,
      `${ISSUES}/1/comments`,
      '/api/v1/repos/a/b/issues',
      '/api/v1/nothing',
    ]) {
      const reply = await send(gitea, 'GET', path);
      expect([reply.status, reply.body.message]).toEqual([404, "The target couldn't be found."]);
    }
  });

  it('accepts the token with either scheme and 401s on other credentials', async () => {
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(gitea.url + ISSUES, { headers });
      return [response.status, await response.json()];
    };
    const refused = (message: string) => [401, { message, url: `${gitea.url}/api/swagger` }];

    expect(await ask({ authorization: `token ${gitea.token}` })).toEqual([200, []]);
    expect(await ask({ authorization: `Bearer ${gitea.token}` })).toEqual([200, []]);
    expect(await ask({})).toEqual(refused('token is required'));
    expect(await ask({ authorization: 'token x' })).toEqual(refused('invalid username, password or token'));
    expect((await send(gitea, 'GET', '/api/v1/user')).body.login).toBe(gitea.botLogin);
  });
});
