import type { IssueChanges } from '../fake-tracker.ts';
import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
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
import { storedTitle } from './gitlab-labels.ts';
import { type GitLabPresenter, PROJECT_ID } from './gitlab-presenter.ts';

const TITLE_MAX = 255;
const DESCRIPTION_MAX_BYTES = 1_048_576;
const EDITABLE = ['title', 'description', 'labels', 'add_labels', 'remove_labels', 'state_event'];

/** GitLab's operations on a single issue. */
export class GitLabIssues {
  readonly #context: FakeContext;
  readonly #present: GitLabPresenter;

  constructor(context: FakeContext, present: GitLabPresenter) {
    this.#context = context;
    this.#present = present;
  }

  readonly create = (call: TrackerRequest): TrackerResponse => {
    this.assertProject(call);
    const fields = membersOf(call.body);
    if (fields.title === undefined) throw missing('title');
    const title = textOf(fields.title);
    const body = textOf(fields.description);
    assertWritable(title, body);
    const labels = this.#findOrCreate(labelsOf(fields.labels));
    const issue = this.#context.tracker.create({ title, body, labels, author: BOT });
    return { status: 201, body: this.#present.issue(issue) };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    return { status: 200, body: this.#present.issue(this.find(call)) };
  };

  readonly update = (call: TrackerRequest): TrackerResponse => {
    const issue = this.find(call);
    const fields = membersOf(call.body);
    if (!EDITABLE.some((name) => fields[name] !== undefined)) throw nothingToChange(EDITABLE);
    const changes: IssueChanges = {
      ...(fields.title === undefined ? {} : { title: textOf(fields.title) }),
      ...(fields.description === undefined ? {} : { body: textOf(fields.description) }),
      ...stateChange(fields.state_event),
      labels: this.#changedLabels(issue.labels, fields),
    };
    assertWritable(changes.title ?? issue.title, changes.body ?? issue.body);
    gitlabEdit(this.#context.tracker, issue, changes, BOT);
    return { status: 200, body: this.#present.issue(issue) };
  };

  #changedLabels(before: readonly string[], fields: Readonly<Record<string, unknown>>): string[] {
    const kept = fields.labels === undefined ? before : this.#findOrCreate(labelsOf(fields.labels));
    const removed = labelsOf(fields.remove_labels);
    return [...kept, ...this.#findOrCreate(labelsOf(fields.add_labels))].filter(
      (label) => !removed.includes(label),
    );
  }

  // GitLab's app/services/labels/find_or_create_service.rb: searches the name as given and ignores an invalid new label.
  #findOrCreate(names: readonly string[]): string[] {
    const { tracker } = this.#context;
    return names.flatMap((name) => {
      if (tracker.findLabel(name) !== undefined) return [name];
      const title = storedTitle(name);
      return title === '' || tracker.findLabel(title) !== undefined ? [] : [tracker.label(title).name];
    });
  }

  /** @throws ErrorResponse 404 */
  find(call: TrackerRequest): TrackerIssue {
    this.assertProject(call);
    const issue = this.#context.tracker.find(Number(call.params.issue_iid));
    if (issue?.presence.kind !== 'present') throw issueNotFound();
    return issue;
  }

  /** A project is addressed by its number or its encoded path. @throws ErrorResponse 404 */
  assertProject({ params }: TrackerRequest): void {
    const { owner, name } = this.#context.project;
    const asked = params.id?.toLowerCase();
    if (asked !== String(PROJECT_ID) && asked !== `${owner}/${name}`.toLowerCase()) throw projectNotFound();
    // GitLab's lib/api/helpers.rb, authorize!: responds 404 for a resource that the user may not read.
    if (!this.#context.settings.issuesEnabled) throw issueNotFound();
  }
}

/** Applies an edit and adds the notes that GitLab writes about it. */
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

/** A list, or a comma-separated string; an empty string clears. */
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
