import type { IssueChanges } from '../fake-tracker.ts';
import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import {
  archived,
  type FieldError,
  gone,
  invalid,
  issuesDisabled,
  movedTo,
  notFound,
} from './github-errors.ts';
import type { GitHubPresenter } from './github-presenter.ts';

const TITLE_MAX = 256;
const BODY_MAX = 65_536;

/** GitHub's operations on a single issue. The contract has already validated the input. */
export class GitHubIssues {
  readonly #context: FakeContext;
  readonly #present: GitHubPresenter;

  constructor(context: FakeContext, present: GitHubPresenter) {
    this.#context = context;
    this.#present = present;
  }

  readonly create = (call: TrackerRequest): TrackerResponse => {
    this.assertRepository(call);
    const fields = membersOf(call.body);
    const title = String(fields.title);
    const body = textOf(fields.body) ?? '';
    assertWritable(title, body);
    const issue = this.#context.tracker.create({
      title,
      body,
      labels: labelsOf(fields.labels) ?? [],
      author: BOT,
    });
    const headers = { location: this.#present.issueUrl(issue.number) };
    return { status: 201, headers, body: this.#present.issue(issue) };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    return { status: 200, body: this.#present.issue(this.find(call)) };
  };

  readonly update = (call: TrackerRequest): TrackerResponse => {
    const issue = this.find(call);
    const fields = membersOf(call.body);
    const { title, body, labels } = fields;
    const changes: IssueChanges = {
      ...(title === undefined || title === null ? {} : { title: String(title) }),
      ...(body === undefined ? {} : { body: textOf(body) ?? '' }),
      ...(labels === undefined ? {} : { labels: labelsOf(labels) ?? [] }),
      ...stateChanges(issue, fields),
    };
    assertWritable(changes.title ?? issue.title, changes.body ?? issue.body);
    this.#context.tracker.edit(issue, changes, BOT);
    return { status: 200, body: this.#present.issue(issue) };
  };

  /** @throws ErrorResponse 404, or 410 or 301 for a deleted or moved issue */
  find(call: TrackerRequest): TrackerIssue {
    this.assertRepository(call);
    const issue = this.#context.tracker.find(Number(call.params.issue_number));
    if (issue === undefined) throw notFound();
    if (issue.presence.kind === 'deleted') throw gone();
    if (issue.presence.kind === 'moved') throw movedTo(issue.presence.location);
    return issue;
  }

  /** @throws ErrorResponse 404, as for a repository that the token cannot access */
  assertRepository({ params, method }: TrackerRequest): void {
    const { owner, name } = this.#context.project;
    const asked = `${params.owner}/${params.repo}`.toLowerCase();
    if (asked !== `${owner}/${name}`.toLowerCase()) throw notFound();
    if (!this.#context.settings.issuesEnabled) throw issuesDisabled();
    if (this.#context.settings.archived && method !== 'GET') throw archived();
  }
}

/** An edit on GitHub's own pages, which can change the reason of a closed issue. */
export function pageEdit(issue: TrackerIssue, changes: IssueChanges): IssueChanges {
  if (changes.stateReason !== undefined) return changes;
  return { ...changes, ...stateChanges(issue, { state: changes.state }) };
}

/** On GitHub, the reason only takes effect when the state changes; then there is always one. */
function stateChanges(issue: TrackerIssue, fields: Readonly<Record<string, unknown>>): IssueChanges {
  const { state, state_reason: reason } = fields;
  if ((state !== 'open' && state !== 'closed') || state === issue.state) return {};
  if (state === 'open') return { state, stateReason: 'reopened' };
  if (reason === 'reopened') throw invalid({ resource: 'Issue', field: 'state_reason', code: 'invalid' });
  return { state, stateReason: textOf(reason) ?? 'completed' };
}

function assertWritable(title: string, body: string): void {
  const errors: FieldError[] = [];
  if (title.trim() === '') errors.push({ resource: 'Issue', field: 'title', code: 'missing_field' });
  if ([...title].length > TITLE_MAX) errors.push(tooLong('title', TITLE_MAX));
  if ([...body].length > BODY_MAX) errors.push(tooLong('body', BODY_MAX));
  if (errors.length > 0) throw invalid(...errors);
}

function tooLong(field: string, max: number): FieldError {
  const message = `${field} is too long (maximum is ${max} characters)`;
  return { resource: 'Issue', field, code: 'custom', message };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function labelsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((label) => (typeof label === 'string' ? label : String(membersOf(label).name)));
}
