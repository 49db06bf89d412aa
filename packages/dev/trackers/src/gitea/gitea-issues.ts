import type { IssueChanges, IssueState } from '../fake-tracker.ts';
import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT } from '../server/run-fake.ts';
import { assertRepository, findIssue, type GiteaRepository } from './gitea-repository.ts';

/** Gitea's operations on a single issue. */
export class GiteaIssues {
  readonly #repository: GiteaRepository;

  constructor(repository: GiteaRepository) {
    this.#repository = repository;
  }

  /** Labels are given by id; unknown ids are ignored. */
  readonly create = (call: TrackerRequest): TrackerResponse => {
    const { tracker, errors, present } = this.#repository;
    assertRepository(this.#repository, call);
    const { title, body, labels, closed } = membersOf(call.body);
    if (typeof title !== 'string' || title.trim() === '') throw errors.required('Title');
    const ids = Array.isArray(labels) ? labels : [];
    const names = tracker.labels().filter(({ id }) => ids.includes(id));
    const issue = tracker.create({
      title,
      body: textOf(body) ?? '',
      labels: names.map(({ name }) => name),
      author: BOT,
    });
    if (closed === true) tracker.edit(issue, { state: 'closed' }, BOT);
    return { status: 201, body: present.issue(issue) };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    return { status: 200, body: this.#repository.present.issue(findIssue(this.#repository, call)) };
  };

  /** Answers 201, not 200. Ignores labels and an empty title. */
  readonly update = (call: TrackerRequest): TrackerResponse => {
    const { tracker, errors, present, contentVersion } = this.#repository;
    const issue = findIssue(this.#repository, call);
    const fields = membersOf(call.body);
    const expected = contentVersion ? fields.content_version : undefined;
    if (expected !== undefined && expected !== null && expected !== issue.contentVersion)
      throw errors.alreadyChanged();
    const title = textOf(fields.title) ?? '';
    const body = textOf(fields.body);
    const state = this.#state(textOf(fields.state));
    const changes: IssueChanges = {
      ...(title === '' ? {} : { title }),
      ...(body === undefined ? {} : { body }),
      ...(state === undefined ? {} : { state }),
    };
    tracker.edit(issue, changes, BOT);
    return { status: 201, body: present.issue(issue) };
  };

  #state(state: string | undefined): IssueState | undefined {
    if (state === undefined || state === 'open' || state === 'closed') return state;
    throw this.#repository.errors.unknownState(state);
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
