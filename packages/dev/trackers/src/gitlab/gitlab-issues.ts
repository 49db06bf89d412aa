import type { IssueChanges } from '../fake-tracker.ts';
import { type Answer, type Call, membersOf } from '../server/exchange.ts';
import { BOT, type Ground } from '../server/run-fake.ts';
import type { Tracker } from '../tracker/tracker.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import {
  invalid,
  issueNotFound,
  missing,
  notAllowed,
  nothingToChange,
  projectNotFound,
} from './gitlab-errors.ts';
import { type GitLabPresenter, PROJECT_ID } from './gitlab-presenter.ts';

const TITLE_MAX = 255;
const DESCRIPTION_MAX_BYTES = 1_048_576;
const EDITABLE = ['title', 'description', 'labels', 'add_labels', 'remove_labels', 'state_event'];

/** What GitLab does with a single issue. */
export class GitLabIssues {
  readonly #ground: Ground;
  readonly #present: GitLabPresenter;

  constructor(ground: Ground, present: GitLabPresenter) {
    this.#ground = ground;
    this.#present = present;
  }

  readonly create = (call: Call): Answer => {
    this.assertProject(call);
    const fields = membersOf(call.body);
    if (fields.title === undefined) throw missing('title');
    const title = textOf(fields.title);
    const body = textOf(fields.description);
    assertWritable(title, body);
    const issue = this.#ground.tracker.create({ title, body, labels: labelsOf(fields.labels), author: BOT });
    return { status: 201, body: this.#present.issue(issue) };
  };

  readonly get = (call: Call): Answer => {
    return { status: 200, body: this.#present.issue(this.find(call)) };
  };

  readonly update = (call: Call): Answer => {
    const issue = this.find(call);
    const fields = membersOf(call.body);
    if (!EDITABLE.some((name) => fields[name] !== undefined)) throw nothingToChange(EDITABLE);
    const changes: IssueChanges = {
      ...(fields.title === undefined ? {} : { title: textOf(fields.title) }),
      ...(fields.description === undefined ? {} : { body: textOf(fields.description) }),
      ...stateChange(fields.state_event),
      labels: changedLabels(issue.labels, fields),
    };
    assertWritable(changes.title ?? issue.title, changes.body ?? issue.body);
    gitlabEdit(this.#ground.tracker, issue, changes, BOT);
    return { status: 200, body: this.#present.issue(issue) };
  };

  /** @throws Refused 404 */
  find(call: Call): TrackerIssue {
    this.assertProject(call);
    const issue = this.#ground.tracker.find(Number(call.params.issue_iid));
    if (issue?.fate.kind !== 'present') throw issueNotFound();
    return issue;
  }

  /** A project is asked for by its number or by its path, encoded as one segment. @throws Refused 404 */
  assertProject({ params }: Call): void {
    const { owner, name } = this.#ground.project;
    const asked = params.id?.toLowerCase();
    if (asked !== String(PROJECT_ID) && asked !== `${owner}/${name}`.toLowerCase()) throw projectNotFound();
  }
}

/** An edit and the notes that GitLab itself writes about it. */
export function gitlabEdit(tracker: Tracker, issue: TrackerIssue, changes: IssueChanges, by: string): void {
  const { title: oldTitle, body: oldBody } = issue;
  tracker.edit(issue, changes, by);
  if (issue.title !== oldTitle)
    tracker.comment(issue, `changed title from **{-${oldTitle}-}** to **{+${issue.title}+}**`, by, true);
  if (issue.body !== oldBody) tracker.comment(issue, 'changed the description', by, true);
}

function stateChange(event: unknown): IssueChanges {
  if (event === undefined) return {};
  if (event !== 'close' && event !== 'reopen') throw notAllowed('state_event');
  return { state: event === 'close' ? 'closed' : 'open' };
}

function changedLabels(before: readonly string[], fields: Readonly<Record<string, unknown>>): string[] {
  const kept = fields.labels === undefined ? before : labelsOf(fields.labels);
  const removed = labelsOf(fields.remove_labels);
  return [...kept, ...labelsOf(fields.add_labels)].filter((label) => !removed.includes(label));
}

/** A list, or one text with commas; an empty text clears. */
function labelsOf(value: unknown): string[] {
  const names = Array.isArray(value) ? value.map(String) : textOf(value).split(',');
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

function assertWritable(title: string, description: string): void {
  if (title.trim() === '') throw invalid({ title: ["can't be blank"] });
  if ([...title].length > TITLE_MAX)
    throw invalid({ title: [`is too long (maximum is ${TITLE_MAX} characters)`] });
  if (Buffer.byteLength(description) > DESCRIPTION_MAX_BYTES)
    throw invalid({ description: ['is too long. The maximum size is 1 MiB.'] });
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}
