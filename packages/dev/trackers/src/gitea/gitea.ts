import type { FakeTracker, GiteaOptions } from '../fake-tracker.ts';
import type { Operation, TrackerRequest } from '../server/exchange.ts';
import type { Protocol, Route } from '../server/protocol-app.ts';
import { BOT, type FakeContext, runFake } from '../server/run-fake.ts';
import { Tracker } from '../tracker/tracker.ts';
import { GiteaComments } from './gitea-comments.ts';
import { GiteaErrors } from './gitea-errors.ts';
import { giteaIssueList } from './gitea-issue-list.ts';
import { GiteaIssues } from './gitea-issues.ts';
import { GiteaLabels } from './gitea-labels.ts';
import { GiteaPages } from './gitea-pages.ts';
import { GiteaPresenter } from './gitea-presenter.ts';
import type { GiteaRepository } from './gitea-repository.ts';

/** Starts a fake Gitea (or Forgejo: `contentVersion: false`) with one repository; clients add `/api/v1` to its URL. */
export async function startGitea(options: GiteaOptions = {}): Promise<FakeTracker> {
  const tracker = new Tracker({ crlf: options.crlf ?? false, stateReasons: false });
  tracker.userId(BOT);
  if (options.withPullRequest === true)
    tracker.create({ title: 'A pull request', body: '', labels: [], author: BOT, pullRequest: true });
  return runFake({
    options,
    tracker,
    urlPath: '',
    protocol: (context) => giteaProtocol(repositoryOn(context, options)),
    edit: (issue, changes, by) => tracker.edit(issue, changes, by),
  });
}

function repositoryOn(context: FakeContext, options: GiteaOptions): GiteaRepository {
  const contentVersion = options.contentVersion ?? true;
  return {
    ...context,
    contentVersion,
    present: new GiteaPresenter(context, contentVersion),
    pages: new GiteaPages(context, options.defaultPageSize),
    errors: new GiteaErrors(context.origin),
  };
}

function giteaProtocol(repository: GiteaRepository): Protocol {
  const { errors, present } = repository;
  const issues = new GiteaIssues(repository);
  const comments = new GiteaComments(repository);
  const labels = new GiteaLabels(repository);
  const authenticate = authentication(repository);
  const route = (method: Route[0], path: string, operation: Operation): Route => [
    method,
    path,
    (call) => {
      authenticate(call);
      return operation(call);
    },
  ];
  const all = '/repos/:owner/:repo/issues';
  const one = `${all}/:index`;
  return {
    basePath: '/api/v1',
    routes: [
      route('get', all, giteaIssueList(repository)),
      route('post', all, issues.create),
      route('get', `${all}/comments/:id`, comments.get),
      route('patch', `${all}/comments/:id`, comments.update),
      route('get', one, issues.get),
      route('patch', one, issues.update),
      route('get', `${one}/comments`, comments.list),
      route('post', `${one}/comments`, comments.create),
      route('get', `${one}/labels`, labels.listOfIssue),
      route('put', `${one}/labels`, labels.replace),
      route('post', `${one}/labels`, labels.add),
      route('delete', `${one}/labels`, labels.clear),
      route('delete', `${one}/labels/:id`, labels.remove),
      route('get', '/repos/:owner/:repo/labels', labels.list),
      route('post', '/repos/:owner/:repo/labels', labels.create),
      route('get', '/orgs/:org/labels', labels.listOfOwner),
      route('get', '/repos/:owner/:repo', ({ params }) => {
        const { project, settings } = repository;
        const full_name = `${project.owner}/${project.name}`;
        if (`${params.owner}/${params.repo}`.toLowerCase() !== full_name.toLowerCase())
          throw errors.notFound();
        return {
          status: 200,
          body: { full_name, has_issues: settings.issuesEnabled, archived: settings.archived },
        };
      }),
      route('get', '/user', () => ({ status: 200, body: present.user(BOT) })),
    ],
    notFound: () => {
      throw errors.notFound();
    },
    malformed: () => {
      throw errors.unreadable();
    },
  };
}

function authentication({ token, errors, settings }: GiteaRepository): (call: TrackerRequest) => void {
  return ({ headers, method }) => {
    if (headers.authorization === undefined) throw errors.tokenRequired();
    const [, given] = /^(?:token|bearer) (.+)$/i.exec(headers.authorization) ?? [];
    if (given !== token) throw errors.badToken();
    if (settings.isReadOnly && method !== 'GET') throw errors.scopeMissing();
  };
}
