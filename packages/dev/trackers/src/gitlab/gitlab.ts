import type { FakeTracker, FakeTrackerOptions } from '../fake-tracker.ts';
import type { Operation, TrackerRequest } from '../server/exchange.ts';
import type { Protocol, Route } from '../server/protocol-app.ts';
import { BOT, type FakeContext, runFake } from '../server/run-fake.ts';
import { Tracker } from '../tracker/tracker.ts';
import * as errors from './gitlab-errors.ts';
import { gitlabIssueList } from './gitlab-issue-list.ts';
import { GitLabIssues, gitlabEdit } from './gitlab-issues.ts';
import { GitLabLabels } from './gitlab-labels.ts';
import { GitLabNotes } from './gitlab-notes.ts';
import { GitLabPages } from './gitlab-pages.ts';
import { GitLabPresenter, PROJECT_ID } from './gitlab-presenter.ts';

/** Starts a fake GitLab with one project; clients add `/api/v4` to its URL. */
export async function startGitLab(options: FakeTrackerOptions = {}): Promise<FakeTracker> {
  const tracker = new Tracker({ crlf: options.crlf ?? false, stateReasons: false });
  return runFake({
    options,
    tracker,
    urlPath: '',
    protocol: (context) => gitlabProtocol(context, options.defaultPageSize),
    edit: (issue, changes, by) => gitlabEdit(tracker, issue, changes, by),
  });
}

function gitlabProtocol(context: FakeContext, pageSize: number | undefined): Protocol {
  const present = new GitLabPresenter(context);
  const pages = new GitLabPages(context, pageSize);
  const issues = new GitLabIssues(context, present);
  const labels = new GitLabLabels(context, issues, pages);
  const notes = new GitLabNotes(context, issues, present, pages);
  const authenticate = authentication(context);
  const route = (method: Route[0], path: string, operation: Operation): Route => [
    method,
    path,
    (call) => {
      authenticate(call);
      return operation(call);
    },
  ];
  const all = '/projects/:id/issues';
  const one = `${all}/:issue_iid`;
  return {
    basePath: '/api/v4',
    routes: [
      route('get', all, gitlabIssueList(context, issues, present, pages)),
      route('post', all, issues.create),
      route('get', one, issues.get),
      route('put', one, issues.update),
      route('get', `${one}/notes`, notes.list),
      route('post', `${one}/notes`, notes.create),
      route('get', `${one}/notes/:note_id`, notes.get),
      route('get', '/projects/:id/labels', labels.list),
      route('post', '/projects/:id/labels', labels.create),
      route('get', '/projects/:id', ({ params }) => {
        const { owner, name } = context.project;
        const path = `${owner}/${name}`;
        if (params.id !== String(PROJECT_ID) && params.id !== path) throw errors.projectNotFound();
        const { issuesEnabled, archived } = context.settings;
        const access = issuesEnabled ? 'enabled' : 'disabled';
        const body = { id: PROJECT_ID, path_with_namespace: path, archived, issues_access_level: access };
        return { status: 200, body };
      }),
      route('get', '/user', () => ({ status: 200, body: present.user(BOT) })),
    ],
    notFound: () => {
      throw errors.noSuchPath();
    },
    malformed: () => {
      throw errors.unreadable();
    },
  };
}

function authentication({ token, settings }: FakeContext): (call: TrackerRequest) => void {
  return ({ headers, method }) => {
    const [, bearer] = /^bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (headers['private-token'] !== token && bearer !== token) throw errors.unauthorized();
    if (settings.isReadOnly && method !== 'GET') throw errors.insufficientScope();
  };
}
