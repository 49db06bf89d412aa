import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Comment, giteaApi, type Issue, type Label, type User } from 'gitea-js';
import { type FakeTracker, startGitea } from '../src/fakes.ts';

const PROJECT = ['tessera', 'tracker'] as const;

let gitea: FakeTracker;
let repos: ReturnType<typeof giteaApi>['repos'];

beforeEach(async () => {
  gitea = await startGitea();
  repos = giteaApi(gitea.url, { token: gitea.token, customFetch: fetch }).repos;
});

afterEach(async () => {
  await gitea.close();
});

type Members<Shape> = Readonly<Record<keyof Shape, true>>;

// The compiler checks that these lists match the published types.
const USER: Members<User> = {
  active: true,
  avatar_url: true,
  created: true,
  description: true,
  email: true,
  followers_count: true,
  following_count: true,
  full_name: true,
  html_url: true,
  id: true,
  is_admin: true,
  language: true,
  last_login: true,
  location: true,
  login: true,
  login_name: true,
  prohibit_login: true,
  restricted: true,
  source_id: true,
  starred_repos_count: true,
  visibility: true,
  website: true,
};
const LABEL: Members<Label> = {
  color: true,
  description: true,
  exclusive: true,
  id: true,
  is_archived: true,
  name: true,
  url: true,
};
const COMMENT: Members<Comment> = {
  assets: true,
  body: true,
  created_at: true,
  html_url: true,
  id: true,
  issue_url: true,
  original_author: true,
  original_author_id: true,
  pull_request_url: true,
  updated_at: true,
  user: true,
};
const ISSUE: Members<Issue> = {
  assets: true,
  assignee: true,
  assignees: true,
  body: true,
  closed_at: true,
  comments: true,
  created_at: true,
  due_date: true,
  html_url: true,
  id: true,
  is_locked: true,
  labels: true,
  milestone: true,
  number: true,
  original_author: true,
  original_author_id: true,
  pin_order: true,
  pull_request: true,
  ref: true,
  repository: true,
  state: true,
  title: true,
  updated_at: true,
  url: true,
  user: true,
};

describe('gitea-js against the fake Gitea', () => {
  it('creates, reads, closes, reopens and relabels', async () => {
    const high = await repos.issueCreateLabel(...PROJECT, { name: 'priority/high', color: '#ff0000' });
    const created = await repos.issueCreateIssue(...PROJECT, {
      title: 'Printer',
      body: 'on\nfire',
      labels: [high.data.id ?? 0],
    });
    const read = await repos.issueGetIssue(...PROJECT, created.data.number ?? 0);
    const closed = await repos.issueEditIssue(...PROJECT, 1, { state: 'closed' });
    const reopened = await repos.issueEditIssue(...PROJECT, 1, { state: 'open' });
    const labels = await repos.issueReplaceLabels(...PROJECT, 1, { labels: [] });

    expect([created.status, closed.status]).toEqual([201, 201]);
    expect(read.data).toEqual(created.data);
    expect(created.data).toMatchObject({ title: 'Printer', body: 'on\nfire', labels: [high.data] });
    expect([closed.data.state, reopened.data.state, labels.data]).toEqual(['closed', 'open', []]);
  });

  it('reads all pages of issues, and all comments at once', async () => {
    for (let n = 1; n <= 5; n += 1) await repos.issueCreateIssue(...PROJECT, { title: `${n}` });
    for (let n = 1; n <= 3; n += 1) await repos.issueCreateComment(...PROJECT, 1, { body: `${n}` });
    const titles: (string | undefined)[] = [];
    const query = { state: 'all', type: 'issues', created_by: gitea.botLogin, limit: 2 } as const;
    for (let page = 1; page <= 3; page += 1) {
      const { data, headers } = await repos.issueListIssues(...PROJECT, { ...query, page });
      expect(headers.get('x-total-count')).toBe('5');
      titles.push(...data.map(({ title }) => title));
    }
    const comments = await repos.issueGetComments(...PROJECT, 1);

    expect(titles).toEqual(['5', '4', '3', '2', '1']);
    expect(comments.data.map(({ body }) => body)).toEqual(['1', '2', '3']);
  });

  it('gets every member of its types', async () => {
    const { data: label } = await repos.issueCreateLabel(...PROJECT, { name: 'a', color: '#00ff00' });
    const { data: issue } = await repos.issueCreateIssue(...PROJECT, { title: 'One' });
    const { data: comment } = await repos.issueCreateComment(...PROJECT, 1, { body: 'a' });
    const lacking = (members: object, answer: object | undefined) =>
      Object.keys(members).filter((name) => !(name in (answer ?? {})));

    expect(lacking(ISSUE, issue)).toEqual([]);
    expect(lacking(COMMENT, comment)).toEqual([]);
    expect(lacking(LABEL, label)).toEqual([]);
    expect(lacking(USER, issue.user)).toEqual([]);
  });

  it("gets Gitea's errors", async () => {
    const stranger = giteaApi(gitea.url, { token: 'wrong', customFetch: fetch }).repos;

    await expect(stranger.issueGetIssue(...PROJECT, 1)).rejects.toMatchObject({
      status: 401,
      error: { message: 'invalid username, password or token' },
    });
    await expect(repos.issueGetIssue(...PROJECT, 9)).rejects.toMatchObject({ status: 404 });
    await expect(repos.issueCreateIssue(...PROJECT, { title: '' })).rejects.toMatchObject({
      status: 422,
      error: { message: '[Title]: Required' },
    });
  });
});
