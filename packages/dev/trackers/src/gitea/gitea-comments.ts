import { membersOf, single, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT } from '../server/run-fake.ts';
import { seconds } from './gitea-presenter.ts';
import { assertRepository, findIssue, type GiteaRepository } from './gitea-repository.ts';

/** Gitea's operations on comments. */
export class GiteaComments {
  readonly #repository: GiteaRepository;

  constructor(repository: GiteaRepository) {
    this.#repository = repository;
  }

  /** All comments, oldest first. Gitea does not page this list and ignores `page` and `limit`. */
  readonly list = (call: TrackerRequest): TrackerResponse => {
    const issue = findIssue(this.#repository, call);
    const since = Date.parse(single(call, 'since') ?? '');
    const comments = issue.comments.filter(
      ({ updatedAt }) => Number.isNaN(since) || Date.parse(seconds(updatedAt)) >= since,
    );
    const body = comments.map((comment) => this.#repository.present.comment(issue, comment));
    return { status: 200, headers: { 'x-total-count': comments.length }, body };
  };

  readonly create = (call: TrackerRequest): TrackerResponse => {
    const { tracker, present } = this.#repository;
    const issue = findIssue(this.#repository, call);
    const comment = tracker.comment(issue, this.#body(call), BOT);
    return { status: 201, body: present.comment(issue, comment) };
  };

  readonly get = (call: TrackerRequest): TrackerResponse => {
    const { issue, comment } = this.#find(call);
    return { status: 200, body: this.#repository.present.comment(issue, comment) };
  };

  readonly update = (call: TrackerRequest): TrackerResponse => {
    const { issue, comment } = this.#find(call);
    this.#repository.tracker.editComment(comment, this.#body(call));
    return { status: 200, body: this.#repository.present.comment(issue, comment) };
  };

  #find(call: TrackerRequest) {
    assertRepository(this.#repository, call);
    const found = this.#repository.tracker.findComment(Number(call.params.id));
    if (found === undefined) throw this.#repository.errors.notFound();
    return found;
  }

  #body(call: TrackerRequest): string {
    const { body } = membersOf(call.body);
    if (typeof body !== 'string' || body === '') throw this.#repository.errors.required('Body');
    return body;
  }
}
