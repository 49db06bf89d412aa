import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FakeTracker, startGitLab } from '../src/fakes.ts';
import { linked, send } from './support/client.ts';

const ISSUES = '/api/v4/projects/tessera%2Ftracker/issues';

let gitlab: FakeTracker;

beforeEach(async () => {
  gitlab = await startGitLab();
});

afterEach(async () => {
  await gitlab.close();
});

const create = (title: string, more: object = {}) =>
  send(gitlab, 'POST', ISSUES, { body: { title, ...more } });
const put = (body: object) => send(gitlab, 'PUT', `${ISSUES}/1`, { body });

describe('POST /projects/:id/issues', () => {
  it("201s with the issue by the bot, in GitLab's terms", async () => {
    const reply = await create('Printer', { description: 'on\nfire', labels: 'priority::high,bug' });

    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({
      iid: 1,
      title: 'Printer',
      description: 'on\nfire',
      state: 'opened',
      labels: ['priority::high', 'bug'],
      author: { username: gitlab.botLogin },
    });
    expect(reply.body.id).not.toBe(1);
    expect(gitlab.issues()).toMatchObject([{ number: 1, body: 'on\nfire', state: 'open' }]);
    expect(gitlab.issues()[0]).not.toHaveProperty('stateReason');
  });

  it.each([
    ['no title', {}, { error: 'title is missing' }],
    ['a blank title', { title: ' ' }, { message: { title: ["can't be blank"] } }],
    [
      'a title of 256 characters',
      { title: 'x'.repeat(256) },
      { message: { title: ['is too long (maximum is 255 characters)'] } },
    ],
    ['a body that is not JSON', '{', { error: 'message body does not match declared format' }],
  ])('400s on %s', async (_, body, error) => {
    const reply = await send(gitlab, 'POST', ISSUES, { body });

    expect(reply.status).toBe(400);
    expect(reply.body).toEqual(error);
    expect(gitlab.issues()).toEqual([]);
  });

  it('accepts labels as a list, and the project by its number', async () => {
    const { body } = await create('One', { labels: ['a', 'b'] });
    const path = `/api/v4/projects/${body.project_id}/issues/1`;

    expect((await send(gitlab, 'GET', path)).body).toMatchObject({ iid: 1, labels: ['a', 'b'] });
  });
});

describe('PUT /projects/:id/issues/:issue_iid', () => {
  it('closes and reopens by state_event', async () => {
    await create('One');

    expect((await put({ state_event: 'close' })).body).toMatchObject({
      state: 'closed',
      closed_by: { username: gitlab.botLogin },
    });
    expect((await put({ state_event: 'reopen' })).body).toMatchObject({ state: 'opened', closed_at: null });
    expect((await put({ state_event: 'resolve' })).body).toEqual({
      error: 'state_event does not have a valid value',
    });
  });

  it('has labels of the project, created with a colour', async () => {
    const path = '/api/v4/projects/tessera%2Ftracker/labels';
    const post = (body: object) => send(gitlab, 'POST', path, { body });
    const bug = await post({ name: 'bug', color: '#D73A4A' });
    await create('One', { labels: 'a' });

    expect([bug.status, bug.body]).toMatchObject([201, { name: 'bug', color: '#D73A4A' }]);
    expect((await send(gitlab, 'GET', path)).body).toMatchObject([{ name: 'a' }, { name: 'bug' }]);
    expect((await post({ name: 'bug', color: '#000000' })).body).toEqual({ message: 'Label already exists' });
    expect((await post({ name: 'a, b', color: '#000000' })).body).toEqual({
      message: { title: ['is invalid'] },
    });
    expect((await post({ name: 'c' })).body).toEqual({ error: 'color is missing' });
  });

  it('removes HTML from the names of labels, and replaces character references', async () => {
    const path = '/api/v4/projects/tessera%2Ftracker/labels';
    const names = [
      '<b>x</b>',
      'List<T>',
      'a<br>b',
      'Save&notify',
      '&amp;lt;',
      'a\u00a0b',
      'Q&A',
      'a < b > c & d',
    ];
    const kept = ['x', 'List', 'a b', 'Save¬ify', '&lt;', 'a&nbsp;b', 'Q&A', 'a < b > c & d'];
    const stored: unknown[] = [];
    for (const name of names)
      stored.push((await send(gitlab, 'POST', path, { body: { name, color: '#000000' } })).body.name);
    expect(stored).toEqual(kept);
    expect((await send(gitlab, 'POST', path, { body: { name: '<i>x</i>', color: '#000000' } })).body).toEqual(
      {
        message: { title: ['has already been taken'] },
      },
    );
    await create('One', { labels: '<b>y</b>,x' });
    expect((await put({ add_labels: '<b>x</b>,<i></i>,Q&A' })).body.labels).toEqual(['y', 'x', 'Q&A']);
  });

  it('replaces, adds and removes labels; an empty string clears them', async () => {
    await create('One', { labels: 'a,b' });

    expect((await put({ add_labels: 'c', remove_labels: 'a' })).body.labels).toEqual(['b', 'c']);
    expect((await put({ labels: 'x' })).body.labels).toEqual(['x']);
    expect((await put({ title: 'Uno' })).body.labels).toEqual(['x']);
    expect((await put({ labels: '' })).body.labels).toEqual([]);
  });

  it('400s without a known parameter', async () => {
    await create('One');
    const reply = await put({ state: 'closed' });

    expect(reply.status).toBe(400);
    expect(reply.body.error).toContain('at least one parameter must be provided');
  });
});

describe('GET /projects/:id/issues', () => {
  it('pages with X- headers and links, all states by default, newest first', async () => {
    for (const title of ['1', '2', '3', '4', '5']) await create(title);
    gitlab.editIssue(5, { state: 'closed' });
    const first = await send(gitlab, 'GET', `${ISSUES}?per_page=2`);
    const second = await send(gitlab, 'GET', linked(first, 'next') ?? '');
    const last = await send(gitlab, 'GET', linked(first, 'last') ?? '');

    expect(first.body).toMatchObject([{ title: '5', state: 'closed' }, { title: '4' }]);
    expect(second.body).toMatchObject([{ title: '3' }, { title: '2' }]);
    expect(last.body).toMatchObject([{ title: '1' }]);
    const shown = ['x-page', 'x-next-page', 'x-prev-page', 'x-total', 'x-total-pages', 'x-per-page'];
    expect(shown.map((name) => second.headers.get(name))).toEqual(['2', '3', '1', '5', '3', '2']);
    expect(last.headers.get('x-next-page')).toBe('');
    expect((await send(gitlab, 'GET', `${ISSUES}?state=opened&sort=asc`)).body).toMatchObject([
      { iid: 1 },
      { iid: 2 },
      { iid: 3 },
      { iid: 4 },
    ]);
  });

  it('finds a marker in the description at once', async () => {
    const marker = '<!-- issues-sync:01980c5e-0000-7000-8000-000000000001 -->';
    await create('One', { description: `text\n\n${marker}` });
    await create(marker, { description: 'a title is not a description' });
    const search = async (text: string) =>
      (await send(gitlab, 'GET', `${ISSUES}?search=${encodeURIComponent(text)}&in=description`)).body;

    expect(await search(marker)).toMatchObject([{ iid: 1 }]);
    expect(await search('"issues-sync:01980C5E-0000"')).toMatchObject([{ iid: 1 }]);
    expect(await search('issues-sync:01980c5e-0000-7000-8000-000000000002')).toEqual([]);
  });

  it('filters by author, label, number and time', async () => {
    await create('One', { labels: 'a' });
    await create('Two');
    const list = async (query: string) => (await send(gitlab, 'GET', `${ISSUES}?${query}`)).body;

    expect(await list(`author_username=${gitlab.botLogin}&labels=a`)).toMatchObject([{ iid: 1 }]);
    expect(await list('author_username=stranger')).toEqual([]);
    expect(await list('iids[]=2')).toMatchObject([{ iid: 2 }]);
    expect(await list('updated_after=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await list('created_after=2001-01-01T00:00:00Z')).toHaveLength(2);
  });

  it('400s on an invalid value, 501s on a parameter that is not implemented', async () => {
    const bad = await send(gitlab, 'GET', `${ISSUES}?state=open`);
    const unknown = await send(gitlab, 'GET', `${ISSUES}?milestone=1`);

    expect([bad.status, bad.body]).toEqual([400, { error: 'state does not have a valid value' }]);
    expect(unknown.status).toBe(501);
  });
});

describe('notes', () => {
  it("are listed newest first over pages, including GitLab's own notes", async () => {
    await create('One');
    await send(gitlab, 'POST', `${ISSUES}/1/notes`, { body: { body: 'mine' } });
    gitlab.editIssue(1, { title: 'Uno', body: 'text' });
    const theirs = gitlab.addComment(1, 'theirs', 'ann');
    const first = await send(gitlab, 'GET', `${ISSUES}/1/notes?per_page=3`);
    const second = await send(gitlab, 'GET', linked(first, 'next') ?? '');
    const comments = await send(gitlab, 'GET', `${ISSUES}/1/notes?sort=asc&activity_filter=only_comments`);

    expect(first.body).toMatchObject([
      { id: theirs, body: 'theirs', system: false, author: { username: 'ann' } },
      { body: 'changed the description', system: true },
      { body: 'changed title from **{-One-}** to **{+Uno+}**', system: true },
    ]);
    expect(second.body).toMatchObject([{ body: 'mine', noteable_iid: 1 }]);
    expect(comments.body).toMatchObject([{ body: 'mine' }, { body: 'theirs' }]);
    expect((await send(gitlab, 'GET', `${ISSUES}/1/notes/${theirs}`)).body).toMatchObject({ body: 'theirs' });
    expect((await send(gitlab, 'GET', `${ISSUES}/1`)).body.user_notes_count).toBe(2);
    expect(gitlab.issues()[0]?.comments.map(({ body }) => body)).toEqual(['mine', 'theirs']);
  });

  it('400s without a text and on a blank one', async () => {
    await create('One');
    const none = await send(gitlab, 'POST', `${ISSUES}/1/notes`, { body: {} });
    const blank = await send(gitlab, 'POST', `${ISSUES}/1/notes`, { body: { body: '' } });

    expect(none.body).toEqual({ error: 'body is missing' });
    expect(blank.body.message).toMatch(/^400 Bad request - Note/);
  });
});

describe('missing resources', () => {
  it("404s for a deleted issue, another project and another path, each with GitLab's message", async () => {
    await create('One');
    gitlab.deleteIssue(1);
    const answers = await Promise.all([
      send(gitlab, 'GET', `${ISSUES}/1`),
      send(gitlab, 'PUT', `${ISSUES}/1`, { body: { title: 'x' } }),
      send(gitlab, 'GET', '/api/v4/projects/other%2Fone/issues'),
      send(gitlab, 'GET', '/api/v4/nothing'),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(answers.map(({ body }) => body)).toEqual([
      { message: '404 Not found' },
      { message: '404 Not found' },
      { message: '404 Project Not Found' },
      { error: '404 Not Found' },
    ]);
  });
});

describe('authentication', () => {
  it('accepts the token as PRIVATE-TOKEN or Bearer and 401s on other credentials', async () => {
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(gitlab.url + ISSUES, { headers });
      return [response.status, await response.json()];
    };

    expect(await ask({ 'private-token': gitlab.token })).toEqual([200, []]);
    expect(await ask({ authorization: `Bearer ${gitlab.token}` })).toEqual([200, []]);
    for (const headers of [{}, { 'private-token': 'x' }, { authorization: `token ${gitlab.token}` }])
      expect(await ask(headers)).toEqual([401, { message: '401 Unauthorized' }]);
    expect(JSON.stringify(gitlab.requests)).not.toContain(gitlab.token);
    expect((await send(gitlab, 'GET', '/api/v4/user')).body.username).toBe(gitlab.botLogin);
  });
});
