import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Octokit } from '@octokit/rest';
import { type FakeGitHub, startGitHub } from '../src/fakes.ts';

const repository = { owner: 'tessera', repo: 'tracker' };
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

let github: FakeGitHub;
let octokit: Octokit;

function client(auth: string): Octokit {
  return new Octokit({ baseUrl: github.url, auth, log: silent });
}

beforeEach(async () => {
  github = await startGitHub();
  octokit = client(github.token);
});

afterEach(async () => {
  await github.close();
  expect(github.violations()).toEqual([]);
});

const create = async (title: string) => (await octokit.rest.issues.create({ ...repository, title })).data;

describe('@octokit/rest against the fake GitHub', () => {
  it('creates, reads, closes with a reason, reopens and relabels', async () => {
    const { status, data } = await octokit.rest.issues.create({
      ...repository,
      title: 'Printer',
      body: 'on\nfire',
      labels: ['priority: high'],
    });
    const one = { ...repository, issue_number: data.number };
    const read = await octokit.rest.issues.get(one);
    const closed = await octokit.rest.issues.update({ ...one, state: 'closed', state_reason: 'not_planned' });
    const reopened = await octokit.rest.issues.update({ ...one, state: 'open', labels: ['later'] });

    expect(status).toBe(201);
    expect(read.data).toEqual(data);
    expect(closed.data).toMatchObject({ state: 'closed', state_reason: 'not_planned' });
    expect(reopened.data).toMatchObject({
      state: 'open',
      state_reason: 'reopened',
      labels: [{ name: 'later' }],
    });
    expect((await octokit.rest.users.getAuthenticated()).data.login).toBe(github.botLogin);
  });

  it('reads all pages of issues and comments', async () => {
    for (let n = 1; n <= 7; n += 1) await create(`${n}`);
    const one = { ...repository, issue_number: 1 };
    for (let n = 1; n <= 5; n += 1) await octokit.rest.issues.createComment({ ...one, body: `${n}` });
    const issues = await octokit.paginate(octokit.rest.issues.listForRepo, {
      ...repository,
      state: 'all',
      creator: github.botLogin,
      sort: 'created',
      direction: 'desc',
      since: '2001-01-01T00:00:00Z',
      per_page: 3,
    });
    const comments = await octokit.paginate(octokit.rest.issues.listComments, { ...one, per_page: 2 });

    expect(issues.map(({ title }) => title)).toEqual(['7', '6', '5', '4', '3', '2', '1']);
    expect(comments.map(({ body }) => body)).toEqual(['1', '2', '3', '4', '5']);
    expect(github.requests.filter(({ method }) => method === 'GET')).toHaveLength(3 + 3);
  });

  it('edits a comment', async () => {
    await create('One');
    const { data } = await octokit.rest.issues.createComment({ ...repository, issue_number: 1, body: 'a' });
    const comment = { ...repository, comment_id: data.id };
    await octokit.rest.issues.updateComment({ ...comment, body: 'b' });

    expect((await octokit.rest.issues.getComment(comment)).data.body).toBe('b');
  });

  it("gets GitHub's errors", async () => {
    await create('One');
    await create('Two');
    github.deleteIssue(1);
    github.moveIssue(2, `${github.url}/repositories/9/issues/4`);
    const get = (issue_number: number) => octokit.rest.issues.get({ ...repository, issue_number });

    await expect(get(9)).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('Not Found'),
    });
    await expect(get(1)).rejects.toMatchObject({ status: 410 });
    const moved = await octokit.rest.issues.get({
      ...repository,
      issue_number: 2,
      request: { redirect: 'manual' },
    });
    expect(moved).toMatchObject({
      status: 301,
      headers: { location: `${github.url}/repositories/9/issues/4` },
    });
    await expect(client('wrong').rest.issues.get({ ...repository, issue_number: 1 })).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining('Bad credentials'),
    });
    await expect(create('x'.repeat(257))).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('Validation Failed'),
    });
  });
});
