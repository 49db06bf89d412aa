import { single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { notImplemented } from './github-errors.ts';
import type { GitHubIssues } from './github-issues.ts';
import type { GitHubPages } from './github-pages.ts';
import { type GitHubPresenter, seconds } from './github-presenter.ts';

const KNOWN = ['state', 'creator', 'labels', 'sort', 'direction', 'since', 'per_page', 'page'];

/** The issues of a repository, including pull requests, as on GitHub. */
export function githubIssueList(
  context: FakeContext,
  issues: GitHubIssues,
  present: GitHubPresenter,
  pages: GitHubPages,
): (call: TrackerRequest) => TrackerResponse {
  return (call) => {
    issues.assertRepository(call);
    const unknown = Object.keys(call.query).filter((name) => !KNOWN.includes(name));
    if (unknown.length > 0) throw notImplemented(`the filter ${unknown.join(', ')}`);
    const chosen = context.tracker.list().filter((issue) => isChosen(issue, call));
    return pages.respond(call, sorted(chosen, call), (issue) => present.issue(issue));
  };
}

function isChosen(issue: TrackerIssue, call: TrackerRequest): boolean {
  const state = single(call, 'state') ?? 'open';
  const creator = single(call, 'creator')?.toLowerCase();
  const labels = single(call, 'labels')?.toLowerCase().split(',') ?? [];
  const since = Date.parse(single(call, 'since') ?? '');
  const own = issue.labels.map((label) => label.toLowerCase());
  return (
    (state === 'all' || state === issue.state) &&
    (creator === undefined || creator === issue.author.toLowerCase()) &&
    labels.every((label) => own.includes(label.trim())) &&
    (Number.isNaN(since) || Date.parse(seconds(issue.updatedAt)) >= since)
  );
}

/** @param issues newest first */
function sorted(issues: TrackerIssue[], call: TrackerRequest): TrackerIssue[] {
  const sort = single(call, 'sort') ?? 'created';
  const key = (issue: TrackerIssue): number => {
    if (sort === 'comments') return issue.comments.length;
    return sort === 'updated' ? issue.updatedAt.getTime() : issue.number;
  };
  const descending = issues.toSorted((one, other) => key(other) - key(one) || other.number - one.number);
  return single(call, 'direction') === 'asc' ? descending.reverse() : descending;
}
