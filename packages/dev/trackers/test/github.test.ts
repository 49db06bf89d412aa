import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FakeGitHub, startGitHub } from '../src/fakes.ts';
import { linked, send } from './support/client.ts';

const ISSUES = '/repos/tessera/tracker/issues';

let github: FakeGitHub;

beforeEach(async () => {
  github = await startGitHub();
});

afterEach(async () => {
  await github.close();
});

const create = (title: string, more: object = {}) =>
  send(github, 'POST', ISSUES, { body: { title, ...more } });

describe('POST /repos/{owner}/{repo}/issues', () => {
  it('201s with the issue by the bot and its URL', async () => {
    const reply = await create('Printer', { body: 'on\nfire', labels: ['priority: high', 'bug'] });

    expect(reply.status).toBe(201);
    expect(reply.headers.get('location')).toBe(`${github.url}${ISSUES}/1`);
    expect(reply.body).toMatchObject({
      number: 1,
      title: 'Printer',
      body: 'on\nfire',
      state: 'open',
      state_reason: null,
      user: { login: github.botLogin },
      labels: [{ name: 'priority: high' }, { name: 'bug' }],
    });
    expect(reply.body.id).not.toBe(1);
    expect(github.issues()).toMatchObject([
      { number: 1, title: 'Printer', state: 'open', labels: ['priority: high', 'bug'] },
    ]);
    expect(github.violations()).toEqual([]);
  });

  it('422s without a title, records the violation and creates nothing', async () => {
    const reply = await send(github, 'POST', ISSUES, { body: { body: 'no title' } });

    expect(reply.status).toBe(422);
    expect(github.issues()).toEqual([]);
    expect(github.violations()).toEqual([expect.stringContaining("must have required property 'title'")]);
  });

  it.each([
    ['a blank title', { title: ' ' }, { field: 'title', code: 'missing_field' }],
    ['a title of 257 characters', { title: 'x'.repeat(257) }, { field: 'title', code: 'custom' }],
    [
      'a body of 65,537 characters',
      { title: 'x', body: 'x'.repeat(65_537) },
      { field: 'body', code: 'custom' },
    ],
  ])('422s on %s, in the shape of a validation error', async (_, body, error) => {
    const reply = await send(github, 'POST', ISSUES, { body });

    expect(reply.status).toBe(422);
    expect(reply.body).toMatchObject({
      message: 'Validation Failed',
      errors: [{ resource: 'Issue', ...error }],
    });
    expect(github.issues()).toEqual([]);
    expect(github.violations()).toEqual([]);
  });

  it('400s on invalid JSON', async () => {
    const reply = await send(github, 'POST', ISSUES, { body: '{"title"' });

    expect(reply.status).toBe(400);
    expect(reply.body.message).toBe('Problems parsing JSON');
  });
});

describe('PATCH /repos/{owner}/{repo}/issues/{issue_number}', () => {
  it('closes with the given reason or completed, and reopens with reopened', async () => {
    await create('One');
    const patch = async (body: object) => (await send(github, 'PATCH', `${ISSUES}/1`, { body })).body;

    expect(await patch({ state: 'closed', state_reason: 'not_planned' })).toMatchObject({
      state: 'closed',
      state_reason: 'not_planned',
      closed_by: { login: github.botLogin },
    });
    expect(await patch({ state: 'open' })).toMatchObject({ state_reason: 'reopened', closed_at: null });
    expect(await patch({ state: 'closed' })).toMatchObject({ state_reason: 'completed' });
    expect(github.violations()).toEqual([]);
  });

  it('ignores a reason when the state does not change', async () => {
    await create('One');
    await send(github, 'PATCH', `${ISSUES}/1`, { body: { state_reason: 'not_planned', state: 'open' } });

    expect(github.issues()).toMatchObject([{ state: 'open', stateReason: null }]);
  });

  it('replaces the labels and keeps members that are not sent', async () => {
    await create('One', { body: 'kept', labels: ['a', 'b'] });
    await send(github, 'PATCH', `${ISSUES}/1`, { body: { labels: ['b', { name: 'c' }] } });

    expect(github.issues()).toMatchObject([{ title: 'One', body: 'kept', labels: ['b', 'c'] }]);
  });

  it('has labels of its own operations, with names in any case', async () => {
    const labels = '/repos/tessera/tracker/labels';
    const bug = await send(github, 'POST', labels, { body: { name: 'bug', color: 'd73a4a' } });
    const again = await send(github, 'POST', labels, { body: { name: 'BUG' } });
    const long = await send(github, 'POST', labels, { body: { name: 'x'.repeat(51) } });
    await create('One');
    const added = await send(github, 'POST', `${ISSUES}/1/labels`, { body: { labels: ['Bug', 'new one'] } });
    const removed = await send(github, 'DELETE', `${ISSUES}/1/labels/BUG`);
    const missing = await send(github, 'DELETE', `${ISSUES}/1/labels/bug`);

    expect([bug.status, bug.body.color]).toEqual([201, 'd73a4a']);
    expect([again.status, again.body]).toMatchObject([422, { errors: [{ code: 'already_exists' }] }]);
    expect(long.status).toBe(422);
    expect(added.body).toMatchObject([{ name: 'bug' }, { name: 'new one' }]);
    expect((await send(github, 'GET', labels)).body).toEqual(added.body);
    expect(removed.body).toMatchObject([{ name: 'new one' }]);
    expect([missing.status, missing.body.message]).toEqual([404, 'Label does not exist']);
    expect(github.violations()).toEqual([]);
  });

  it('422s on an unknown state and records the violation', async () => {
    await create('One');
    const reply = await send(github, 'PATCH', `${ISSUES}/1`, { body: { state: 'resolved' } });

    expect(reply.status).toBe(422);
    expect(github.violations()).toEqual([expect.stringContaining('/state must be equal to one of')]);
  });
});

describe('GET /repos/{owner}/{repo}/issues', () => {
  it('pages by opaque links that name the repository by its number', async () => {
    for (const title of ['1', '2', '3', '4', '5']) await create(title);
    const first = await send(github, 'GET', `${ISSUES}?state=all&per_page=2&sort=created&direction=desc`);
    const next = linked(first, 'next') ?? '';
    const second = await send(github, 'GET', next);
    const last = await send(github, 'GET', linked(first, 'last') ?? '');

    expect(next).toContain('/repositories/');
    expect(first.body).toMatchObject([{ title: '5' }, { title: '4' }]);
    expect(second.body).toMatchObject([{ title: '3' }, { title: '2' }]);
    expect(last.body).toMatchObject([{ title: '1' }]);
    expect(linked(first, 'prev')).toBeUndefined();
    expect(linked(last, 'next')).toBeUndefined();
    expect(linked(last, 'prev')).toBeDefined();
    expect(github.violations()).toEqual([]);
  });

  it('lists open issues by default and limits a page to 100', async () => {
    for (let n = 0; n < 101; n += 1) await create(`${n}`);
    github.editIssue(101, { state: 'closed' });

    expect((await send(github, 'GET', `${ISSUES}?per_page=1000`)).body).toHaveLength(100);
    expect((await send(github, 'GET', ISSUES)).body).toHaveLength(30);
    expect((await send(github, 'GET', `${ISSUES}?state=closed`)).body).toMatchObject([{ number: 101 }]);
  });

  it('filters by creator and by the time of the last change', async () => {
    await create('Mine');
    const { body } = await send(github, 'GET', `${ISSUES}?creator=${github.botLogin}`);
    const nobodys = await send(github, 'GET', `${ISSUES}?creator=stranger`);
    const later = await send(github, 'GET', `${ISSUES}?since=2999-01-01T00:00:00Z`);

    expect(body).toHaveLength(1);
    expect(nobodys.body).toEqual([]);
    expect(later.body).toEqual([]);
  });

  it('rejects parameters that are not in the description or not implemented', async () => {
    const misspelt = await send(github, 'GET', `${ISSUES}?perpage=2`);
    const notHere = await send(github, 'GET', `${ISSUES}?milestone=none`);

    expect([misspelt.status, notHere.status]).toEqual([422, 501]);
    expect(github.violations()).toEqual([expect.stringContaining('perpage')]);
  });

  it('includes a pull request in the list, but not in issues()', async () => {
    const other = await startGitHub({ withPullRequest: true, project: 'acme/shop' });
    try {
      const { body } = await send(other, 'GET', '/repos/ACME/shop/issues');

      expect(body).toMatchObject([{ number: 1, pull_request: { merged_at: null } }]);
      expect(other.issues()).toEqual([]);
      expect(other.violations()).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('comments', () => {
  it('are created, listed oldest first over several pages, and edited', async () => {
    await create('One');
    const path = `${ISSUES}/1/comments`;
    const added = await send(github, 'POST', path, { body: { body: 'first' } });
    const foreign = github.addComment(1, 'second', 'ann');
    github.addComment(1, 'third');
    const first = await send(github, 'GET', `${path}?per_page=2`);
    const second = await send(github, 'GET', linked(first, 'next') ?? '');
    const edited = await send(github, 'PATCH', `${ISSUES}/comments/${added.body.id}`, {
      body: { body: '1st' },
    });
    const read = await send(github, 'GET', `${ISSUES}/comments/${foreign}`);

    expect(added.status).toBe(201);
    expect(first.body).toMatchObject([{ body: 'first', user: { login: github.botLogin } }, { id: foreign }]);
    expect(second.body).toMatchObject([{ body: 'third' }]);
    expect(edited.body.body).toBe('1st');
    expect(read.body).toMatchObject({ body: 'second', user: { login: 'ann' } });
    expect(github.issues()[0]?.comments.map(({ body }) => body)).toEqual(['1st', 'second', 'third']);
    expect(github.violations()).toEqual([]);
  });

  it('422s on a blank one', async () => {
    await create('One');
    const reply = await send(github, 'POST', `${ISSUES}/1/comments`, { body: { body: ' ' } });

    expect(reply.status).toBe(422);
    expect(reply.body).toMatchObject({ errors: [{ resource: 'IssueComment', code: 'unprocessable' }] });
  });
});

describe('a missing issue', () => {
  it('404s if it never existed, 410s if deleted', async () => {
    await create('One');
    github.deleteIssue(1);

    expect((await send(github, 'GET', `${ISSUES}/9`)).body).toMatchObject({
      message: 'Not Found',
      status: '404',
    });
    for (const [method, path, body] of [
      ['GET', `${ISSUES}/1`, undefined],
      ['PATCH', `${ISSUES}/1`, { title: 'x' }],
      ['GET', `${ISSUES}/1/comments`, undefined],
      ['POST', `${ISSUES}/1/comments`, { body: 'x' }],
    ] as const)
      expect((await send(github, method, path, { body })).status).toBe(410);
    expect((await send(github, 'GET', ISSUES)).body).toEqual([]);
    expect(github.violations()).toEqual([]);
  });

  it.each([['http://127.0.0.1/api/v3/repositories/9/issues/4'], [null]])(
    '301s when moved to %s',
    async (to) => {
      await create('One');
      github.moveIssue(1, to);
      const reply = await send(github, 'GET', `${ISSUES}/1`);

      expect(reply.status).toBe(301);
      expect(reply.headers.get('location')).toBe(to ?? '');
      expect((await send(github, 'GET', `${ISSUES}?state=all`)).body).toEqual([]);
      expect(github.violations()).toEqual([]);
    },
  );
});

describe('authentication', () => {
  it.each([
    ['no token', '', 'Requires authentication'],
    ['another token', 'Bearer nope', 'Bad credentials'],
    ['the token as a password', 'Basic eDp5', 'Bad credentials'],
  ])('401s on %s', async (_, authorization, message) => {
    const headers: Record<string, string> = { 'user-agent': 'test' };
    if (authorization !== '') headers.authorization = authorization;
    const response = await fetch(github.url + ISSUES, { headers });

    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ message, status: '401' });
    expect(github.violations()).toEqual([]);
  });

  it('403s on a request without User-Agent', async () => {
    // fetch always sends one.
    const request = get(github.url + ISSUES, { headers: { authorization: `Bearer ${github.token}` } });
    const [response]: IncomingMessage[] = await once(request, 'response');
    response?.resume();

    expect(response?.statusCode).toBe(403);
    expect(github.violations()).toEqual([]);
  });

  it('accepts the scheme token, counts the rate limit down and never records a credential', async () => {
    const headers = { authorization: `token ${github.token}` };
    const one = await send(github, 'GET', ISSUES, { headers });
    const other = await send(github, 'GET', '/user');

    expect([one.status, other.status]).toEqual([200, 200]);
    expect(other.body.login).toBe(github.botLogin);
    expect(other.headers.get('x-ratelimit-remaining')).toBe('4998');
    expect(JSON.stringify(github.requests)).not.toContain(github.token);
    expect(github.requests).toMatchObject([
      { method: 'GET', path: `/api/v3${ISSUES}`, status: 200 },
      { method: 'GET', path: '/api/v3/user', status: 200 },
    ]);
  });
});
