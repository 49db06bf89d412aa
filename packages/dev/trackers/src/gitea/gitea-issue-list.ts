import { single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { seconds } from './gitea-presenter.ts';
import { assertRepository, type GiteaRepository } from './gitea-repository.ts';

const KNOWN = ['state', 'type', 'labels', 'created_by', 'since', 'before', 'page', 'limit'];

/** The issues of a repository, newest first, including pull requests unless `type=issues`. */
export function giteaIssueList(repository: GiteaRepository): (call: TrackerRequest) => TrackerResponse {
  const { tracker, errors, pages, present } = repository;
  return (call) => {
    assertRepository(repository, call);
    const unknown = Object.keys(call.query).filter((name) => !KNOWN.includes(name));
    if (unknown.length > 0) throw errors.notImplemented(`the parameter ${unknown.join(', ')}`);
    const creator = single(call, 'created_by');
    if (creator !== undefined && !tracker.hasUser(creator)) throw errors.noSuchUser(creator);
    const chosen = tracker.list().filter((issue) => isChosen(issue, call) && isBetween(issue, call));
    return pages.respond(call, chosen, (issue) => present.issue(issue));
  };
}

function isChosen(issue: TrackerIssue, call: TrackerRequest): boolean {
  const state = single(call, 'state') ?? 'open';
  const type = single(call, 'type');
  const labels = single(call, 'labels')?.split(',') ?? [];
  return (
    // Gitea treats an invalid state as open.
    (state === 'all' || (state === 'closed') === (issue.state === 'closed')) &&
    (type === undefined || (type === 'pulls') === issue.pullRequest) &&
    (labels.length === 0 || labels.some((label) => issue.labels.includes(label.trim()))) &&
    (single(call, 'created_by') ?? issue.author) === issue.author
  );
}

function isBetween({ updatedAt }: TrackerIssue, call: TrackerRequest): boolean {
  const since = Date.parse(single(call, 'since') ?? '');
  const before = Date.parse(single(call, 'before') ?? '');
  const updated = Date.parse(seconds(updatedAt));
  return (Number.isNaN(since) || updated >= since) && (Number.isNaN(before) || updated <= before);
}
