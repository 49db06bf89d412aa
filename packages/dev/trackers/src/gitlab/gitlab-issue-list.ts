import { single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { notAllowed, notImplemented } from './gitlab-errors.ts';
import type { GitLabIssues } from './gitlab-issues.ts';
import type { GitLabPages } from './gitlab-pages.ts';
import type { GitLabPresenter } from './gitlab-presenter.ts';

/** Known parameters, and the allowed values of those that have a fixed set. */
const PARAMETERS: Readonly<Record<string, readonly string[] | undefined>> = {
  state: ['opened', 'closed', 'all'],
  scope: ['all', 'created_by_me', 'created-by-me'],
  order_by: ['created_at', 'updated_at', 'title'],
  sort: ['asc', 'desc'],
  author_id: undefined,
  author_username: undefined,
  labels: undefined,
  'iids[]': undefined,
  search: undefined,
  in: undefined,
  created_after: undefined,
  created_before: undefined,
  updated_after: undefined,
  updated_before: undefined,
  page: undefined,
  per_page: undefined,
  // Parameters of the page links.
  id: undefined,
};

/** The issues of a project. */
export function gitlabIssueList(
  context: FakeContext,
  issues: GitLabIssues,
  present: GitLabPresenter,
  pages: GitLabPages,
): (call: TrackerRequest) => TrackerResponse {
  return (call) => {
    issues.assertProject(call);
    assertKnown(call);
    const chosen = context.tracker
      .list()
      .filter((issue) => isChosen(issue, call) && isBetween(issue, call) && isBy(issue, call, context))
      .filter(found(single(call, 'search'), single(call, 'in') ?? 'title,description'));
    return pages.respond(call, sorted(chosen, call), (issue) => present.issue(issue));
  };
}

function assertKnown({ query }: TrackerRequest): void {
  for (const [name, value] of Object.entries(query)) {
    if (!(name in PARAMETERS)) throw notImplemented(`the parameter ${name}`);
    const allowed = PARAMETERS[name];
    if (allowed !== undefined && !allowed.includes(String(value))) throw notAllowed(name);
  }
}

function isChosen(issue: TrackerIssue, call: TrackerRequest): boolean {
  const state = single(call, 'state') ?? 'all';
  const labels = single(call, 'labels')?.split(',') ?? [];
  const numbers = [call.query['iids[]'] ?? []].flat();
  return (
    (state === 'all' || (state === 'opened') === (issue.state === 'open')) &&
    labels.every((label) => issue.labels.includes(label.trim())) &&
    (numbers.length === 0 || numbers.includes(String(issue.number)))
  );
}

function isBy({ author }: TrackerIssue, call: TrackerRequest, { tracker }: FakeContext): boolean {
  const username = single(call, 'author_username') ?? author;
  const id = single(call, 'author_id') ?? String(tracker.userId(author));
  const mine = (single(call, 'scope') ?? 'all') !== 'all';
  return username === author && id === String(tracker.userId(author)) && (!mine || author === BOT);
}

function isBetween({ createdAt, updatedAt }: TrackerIssue, call: TrackerRequest): boolean {
  const bound = (name: string, none: number): number => Date.parse(single(call, name) ?? '') || none;
  const [never, always] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return (
    createdAt.getTime() >= bound('created_after', always) &&
    createdAt.getTime() <= bound('created_before', never) &&
    updatedAt.getTime() >= bound('updated_after', always) &&
    updatedAt.getTime() <= bound('updated_before', never)
  );
}

/** GitLab's search: all words or "quoted phrases" must occur in the same field. */
function found(search: string | undefined, fields: string): (issue: TrackerIssue) => boolean {
  const words = search?.toLowerCase().match(/"[^"]+"|\S+/g) ?? [];
  const terms = words.map((word) => word.replace(/^"(.+)"$/, '$1'));
  return ({ title, body }) => {
    const texts = [
      ...(fields.includes('title') ? [title] : []),
      ...(fields.includes('description') ? [body] : []),
    ];
    return texts.some((text) => terms.every((term) => text.toLowerCase().includes(term)));
  };
}

/** @param issues newest first */
function sorted(issues: TrackerIssue[], call: TrackerRequest): TrackerIssue[] {
  const by = single(call, 'order_by') ?? 'created_at';
  const compare = (one: TrackerIssue, other: TrackerIssue): number => {
    if (by === 'title') return other.title.localeCompare(one.title);
    return by === 'updated_at' ? other.updatedAt.getTime() - one.updatedAt.getTime() : 0;
  };
  const descending = issues.toSorted((one, other) => compare(one, other) || other.number - one.number);
  return single(call, 'sort') === 'asc' ? descending.reverse() : descending;
}
