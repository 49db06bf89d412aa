import type { FakeGitHub, FakeTrackerOptions } from '../fake-tracker.ts';
import type { TrackerRequest } from '../server/exchange.ts';
import type { Protocol } from '../server/protocol-app.ts';
import { BOT, type FakeContext, runFake } from '../server/run-fake.ts';
import { Tracker } from '../tracker/tracker.ts';
import { GitHubComments } from './github-comments.ts';
import { GitHubContract } from './github-contract.ts';
import * as errors from './github-errors.ts';
import { githubIssueList } from './github-issue-list.ts';
import { GitHubIssues, pageEdit } from './github-issues.ts';
import { GitHubLabels } from './github-labels.ts';
import { GitHubPages, REPOSITORY_ID } from './github-pages.ts';
import { GitHubPresenter } from './github-presenter.ts';
import { githubHeaders } from './github-rate-limit.ts';

const BASE_PATH = '/api/v3';

/** Starts a fake GitHub Enterprise Server with one repository, checked against GitHub's API description. */
export async function startGitHub(options: FakeTrackerOptions = {}): Promise<FakeGitHub> {
  const tracker = new Tracker({ crlf: options.crlf ?? false, stateReasons: true, labelsIgnoreCase: true });
  const contract = new GitHubContract();
  if (options.withPullRequest === true)
    tracker.create({ title: 'A pull request', body: '', labels: [], author: BOT, pullRequest: true });
  const fake = await runFake({
    options,
    tracker,
    urlPath: BASE_PATH,
    protocol: (context) => githubProtocol(context, contract, options.defaultPageSize),
    edit: (issue, changes, by) => tracker.edit(issue, pageEdit(issue, changes), by),
  });
  return {
    ...fake,
    violations: () => [...contract.violations],
    moveIssue: (number, location) => {
      const issue = tracker.find(number);
      if (issue?.presence.kind !== 'present') throw new RangeError(`there is no issue ${number}`);
      issue.presence = { kind: 'moved', location };
    },
  };
}

function githubProtocol(
  context: FakeContext,
  contract: GitHubContract,
  pageSize: number | undefined,
): Protocol {
  const present = new GitHubPresenter(context);
  const pages = new GitHubPages(context, pageSize);
  const issues = new GitHubIssues(context, present);
  const comments = new GitHubComments(context, issues, present, pages);
  const labels = new GitHubLabels(context, issues, present, pages);
  const list = githubIssueList(context, issues, present, pages);
  const authenticate = authentication(context);
  const { owner, name } = context.project;
  const one = '/repos/{owner}/{repo}/issues/{issue_number}';
  const oneComment = '/repos/{owner}/{repo}/issues/comments/{comment_id}';
  return {
    basePath: BASE_PATH,
    headers: githubHeaders(),
    alias: (url) => url.replace(`/repositories/${REPOSITORY_ID}/`, `/repos/${owner}/${name}/`),
    routes: [
      contract.route('get', '/repos/{owner}/{repo}/issues', authenticate, list),
      contract.route('post', '/repos/{owner}/{repo}/issues', authenticate, issues.create),
      contract.route('get', oneComment, authenticate, comments.get),
      contract.route('patch', oneComment, authenticate, comments.update),
      contract.route('get', one, authenticate, issues.get),
      contract.route('patch', one, authenticate, issues.update),
      contract.route('get', `${one}/comments`, authenticate, comments.list),
      contract.route('post', `${one}/comments`, authenticate, comments.create),
      contract.route('post', `${one}/labels`, authenticate, labels.add),
      contract.route('delete', `${one}/labels/{name}`, authenticate, labels.remove),
      contract.route('get', '/repos/{owner}/{repo}/labels', authenticate, labels.list),
      contract.route('post', '/repos/{owner}/{repo}/labels', authenticate, labels.create),
      [
        'get',
        '/repos/:owner/:repo',
        (call) => {
          authenticate(call);
          const asked = `${call.params.owner}/${call.params.repo}`.toLowerCase();
          if (asked !== `${owner}/${name}`.toLowerCase()) throw errors.notFound();
          return { status: 200, body: present.repository() };
        },
      ],
      [
        'get',
        '/user',
        (call) => {
          authenticate(call);
          return { status: 200, body: present.user(BOT) };
        },
      ],
    ],
    notFound: (call) => {
      authenticate(call);
      throw errors.notFound();
    },
    malformed: (call) => {
      authenticate(call);
      throw errors.unreadable();
    },
  };
}

function authentication({ token, settings }: FakeContext): (call: TrackerRequest) => void {
  return ({ headers, method }) => {
    if (headers['user-agent'] === undefined) throw errors.agentMissing();
    if (headers.authorization === undefined) throw errors.requiresAuthentication();
    const [, given] = /^(?:bearer|token) (.+)$/i.exec(headers.authorization) ?? [];
    if (given !== token) throw errors.badCredentials();
    if (settings.isReadOnly && method !== 'GET') throw errors.notAccessible();
  };
}
