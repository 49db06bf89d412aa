import { membersOf, single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
import type { TrackerComment } from '../tracker/tracker-issue.ts';
import { blankNote, issueNotFound, missing, notAllowed } from './gitlab-errors.ts';
import type { GitLabIssues } from './gitlab-issues.ts';
import type { GitLabPages } from './gitlab-pages.ts';
import type { GitLabPresenter } from './gitlab-presenter.ts';

const KINDS: Readonly<Record<string, (note: TrackerComment) => boolean>> = {
  all_notes: () => true,
  only_comments: ({ system }) => !system,
  only_activity: ({ system }) => system,
};

/** GitLab's operations on notes: comments, and notes by GitLab itself. */
export class GitLabNotes {
  readonly #context: FakeContext;
  readonly #issues: GitLabIssues;
  readonly #present: GitLabPresenter;
  readonly #pages: GitLabPages;

  constructor(context: FakeContext, issues: GitLabIssues, present: GitLabPresenter, pages: GitLabPages) {
    this.#context = context;
    this.#issues = issues;
    this.#present = present;
    this.#pages = pages;
  }

  /** Newest first by default. */
  readonly list = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const kind = KINDS[single(call, 'activity_filter') ?? 'all_notes'];
    if (kind === undefined) throw notAllowed('activity_filter');
    const [by, sort] = [single(call, 'order_by') ?? 'created_at', single(call, 'sort') ?? 'desc'];
    if (by !== 'created_at' && by !== 'updated_at') throw notAllowed('order_by');
    if (sort !== 'asc' && sort !== 'desc') throw notAllowed('sort');
    const time = (note: TrackerComment): number =>
      (by === 'created_at' ? note.createdAt : note.updatedAt).getTime();
    const ascending = issue.comments
      .filter(kind)
      .toSorted((one, other) => time(one) - time(other) || one.id - other.id);
    const notes = sort === 'asc' ? ascending : ascending.reverse();
    return this.#pages.respond(call, notes, (note) => this.#present.note(issue, note));
  };

  readonly create = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const { body } = membersOf(call.body);
    if (body === undefined || body === null) throw missing('body');
    if (String(body).trim() === '') throw blankNote();
    const note = this.#context.tracker.comment(issue, String(body), BOT);
    return { status: 201, body: this.#present.note(issue, note) };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const note = issue.comments.find(({ id }) => id === Number(call.params.note_id));
    if (note === undefined) throw issueNotFound();
    return { status: 200, body: this.#present.note(issue, note) };
  };
}
