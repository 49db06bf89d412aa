import type { IssueChanges } from '../fake-tracker.ts';
import { type Answer, type Call, membersOf } from '../server/exchange.ts';
import { BOT, type Ground } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { type FieldError, gone, invalid, movedTo, notFound } from './github-errors.ts';
import type { GitHubPresenter } from './github-presenter.ts';

const TITLE_MAX = 256;
const BODY_MAX = 65_536;

/** What GitHub does with a single issue. The shapes of what comes in are checked before. */
export class GitHubIssues {
  readonly #ground: Ground;
  readonly #present: GitHubPresenter;

  constructor(ground: Ground, present: GitHubPresenter) {
    this.#ground = ground;
    this.#present = present;
  }

  readonly create = (call: Call): Answer => {
    this.assertRepository(call);
    const fields = membersOf(call.body);
    const title = String(fields.title);
    const body = textOf(fields.body) ?? '';
    assertWritable(title, body);
    const issue = this.#ground.tracker.create({
      title,
      body,
      labels: labelsOf(fields.labels) ?? [],
      author: BOT,
    });
    const headers = { location: this.#present.issueUrl(issue.number) };
    return { status: 201, headers, body: this.#present.issue(issue) };
  };

  readonly get = (call: Call): Answer => {
    return { status: 200, body: this.#present.issue(this.find(call)) };
  };

  readonly update = (call: Call): Answer => {
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
    this.#ground.tracker.edit(issue, changes, BOT);
    return { status: 200, body: this.#present.issue(issue) };
  };

  /** @throws Refused 404, or as the fate of the issue demands 410 or 301 */
  find(call: Call): TrackerIssue {
    this.assertRepository(call);
    const issue = this.#ground.tracker.find(Number(call.params.issue_number));
    if (issue === undefined) throw notFound();
    if (issue.fate.kind === 'deleted') throw gone();
    if (issue.fate.kind === 'moved') throw movedTo(issue.fate.location);
    return issue;
  }

  /** @throws Refused 404, as for any repository that the token cannot see */
  assertRepository({ params }: Call): void {
    const { owner, name } = this.#ground.project;
    const asked = `${params.owner}/${params.repo}`.toLowerCase();
    if (asked !== `${owner}/${name}`.toLowerCase()) throw notFound();
  }
}

/** What an edit on GitHub's own pages does: a reason may also be changed while the issue stays closed. */
export function pageEdit(issue: TrackerIssue, changes: IssueChanges): IssueChanges {
  if (changes.stateReason !== undefined) return changes;
  return { ...changes, ...stateChanges(issue, { state: changes.state }) };
}

/** GitHub's rule: the reason counts only when the state changes, and then there always is one. */
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
