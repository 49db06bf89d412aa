import { membersOf, single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
import type { TrackerComment, TrackerIssue } from '../tracker/tracker-issue.ts';
import { invalid, locked, notFound } from './github-errors.ts';
import type { GitHubIssues } from './github-issues.ts';
import type { GitHubPages } from './github-pages.ts';
import { type GitHubPresenter, seconds } from './github-presenter.ts';

const BODY_MAX = 65_536;

/** GitHub's operations on comments. */
export class GitHubComments {
  readonly #context: FakeContext;
  readonly #issues: GitHubIssues;
  readonly #present: GitHubPresenter;
  readonly #pages: GitHubPages;

  constructor(context: FakeContext, issues: GitHubIssues, present: GitHubPresenter, pages: GitHubPages) {
    this.#context = context;
    this.#issues = issues;
    this.#present = present;
    this.#pages = pages;
  }

  /** Oldest first. */
  readonly list = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const since = Date.parse(single(call, 'since') ?? '');
    const chosen = issue.comments.filter(
      ({ updatedAt }) => Number.isNaN(since) || Date.parse(seconds(updatedAt)) >= since,
    );
    return this.#pages.respond(call, chosen, (comment) => this.#present.comment(issue, comment));
  };

  readonly create = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    if (issue.locked) throw locked();
    const comment = this.#context.tracker.comment(issue, writableBody(call), BOT);
    const body = this.#present.comment(issue, comment);
    return { status: 201, headers: { location: String(body.url) }, body };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    const { issue, comment } = this.#find(call);
    return { status: 200, body: this.#present.comment(issue, comment) };
  };

  readonly update = (call: TrackerRequest): TrackerResponse => {
    const { issue, comment } = this.#find(call);
    this.#context.tracker.editComment(comment, writableBody(call));
    return { status: 200, body: this.#present.comment(issue, comment) };
  };

  #find(call: TrackerRequest): { issue: TrackerIssue; comment: TrackerComment } {
    this.#issues.assertRepository(call);
    const found = this.#context.tracker.findComment(Number(call.params.comment_id));
    if (found === undefined) throw notFound();
    return found;
  }
}

function writableBody(call: TrackerRequest): string {
  const body = String(membersOf(call.body).body);
  const problem =
    body.trim() === ''
      ? 'Body cannot be blank'
      : [...body].length > BODY_MAX
        ? `Body is too long (maximum is ${BODY_MAX} characters)`
        : undefined;
  if (problem === undefined) return body;
  throw invalid({ resource: 'IssueComment', field: 'data', code: 'unprocessable', message: problem });
}
