import type { FakeGitHub, FakeTrackerOptions } from '../fake-tracker.ts';
import type { Call } from '../server/exchange.ts';
import type { Protocol } from '../server/protocol-app.ts';
import { BOT, type Ground, runFake } from '../server/run-fake.ts';
import { Tracker } from '../tracker/tracker.ts';
import { GitHubComments } from './github-comments.ts';
import { GitHubContract } from './github-contract.ts';
import * as errors from './github-errors.ts';
import { githubIssueList } from './github-issue-list.ts';
import { GitHubIssues, pageEdit } from './github-issues.ts';
import { GitHubPages, REPOSITORY_ID } from './github-pages.ts';
import { GitHubPresenter } from './github-presenter.ts';
import { githubHeaders } from './github-rate-limit.ts';

const BASE_PATH = '/api/v3';

/** Starts a GitHub Enterprise Server of one repository, checked against GitHub's own API description. */
export async function startGitHub(options: FakeTrackerOptions = {}): Promise<FakeGitHub> {
  const tracker = new Tracker({ crlf: options.crlf ?? false, stateReasons: true });
  const contract = new GitHubContract();
  if (options.withPullRequest === true)
    tracker.create({ title: 'A pull request', body: '', labels: [], author: BOT, pullRequest: true });
  const fake = await runFake({
    options,
    tracker,
    urlPath: BASE_PATH,
    protocol: (ground) => githubProtocol(ground, contract, options.defaultPageSize),
    edit: (issue, changes, by) => tracker.edit(issue, pageEdit(issue, changes), by),
  });
  return {
    ...fake,
    violations: () => [...contract.violations],
    moveIssue: (number, location) => {
      const issue = tracker.find(number);
      if (issue?.fate.kind !== 'present') throw new RangeError(`there is no issue ${number}`);
      issue.fate = { kind: 'moved', location };
    },
  };
}

function githubProtocol(ground: Ground, contract: GitHubContract, pageSize: number | undefined): Protocol {
  const present = new GitHubPresenter(ground);
  const pages = new GitHubPages(ground, pageSize);
  const issues = new GitHubIssues(ground, present);
  const comments = new GitHubComments(ground, issues, present, pages);
  const list = githubIssueList(ground, issues, present, pages);
  const admit = admission(ground.token);
  const { owner, name } = ground.project;
  const one = '/repos/{owner}/{repo}/issues/{issue_number}';
  const oneComment = '/repos/{owner}/{repo}/issues/comments/{comment_id}';
  return {
    basePath: BASE_PATH,
    headers: githubHeaders(),
    alias: (url) => url.replace(`/repositories/${REPOSITORY_ID}/`, `/repos/${owner}/${name}/`),
    routes: [
      contract.route('get', '/repos/{owner}/{repo}/issues', admit, list),
      contract.route('post', '/repos/{owner}/{repo}/issues', admit, issues.create),
      contract.route('get', oneComment, admit, comments.get),
      contract.route('patch', oneComment, admit, comments.update),
      contract.route('get', one, admit, issues.get),
      contract.route('patch', one, admit, issues.update),
      contract.route('get', `${one}/comments`, admit, comments.list),
      contract.route('post', `${one}/comments`, admit, comments.create),
      [
        'get',
        '/user',
        (call) => {
          admit(call);
          return { status: 200, body: present.user(BOT) };
        },
      ],
    ],
    notFound: (call) => {
      admit(call);
      throw errors.notFound();
    },
    malformed: (call) => {
      admit(call);
      throw errors.unreadable();
    },
  };
}

function admission(token: string): (call: Call) => void {
  return ({ headers }) => {
    if (headers['user-agent'] === undefined) throw errors.agentMissing();
    if (headers.authorization === undefined) throw errors.requiresAuthentication();
    const [, given] = /^(?:bearer|token) (.+)$/i.exec(headers.authorization) ?? [];
    if (given !== token) throw errors.badCredentials();
  };
}
