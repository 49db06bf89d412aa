import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { assertRepository, findIssue, type GiteaRepository } from './gitea-repository.ts';

/** A label must exist before an issue can have it. An issue's labels have their own endpoints. */
export class GiteaLabels {
  readonly #repository: GiteaRepository;

  constructor(repository: GiteaRepository) {
    this.#repository = repository;
  }

  readonly list = (call: TrackerRequest): TrackerResponse => {
    const { tracker, pages, present } = this.#repository;
    assertRepository(this.#repository, call);
    const labels = tracker.labels().filter(({ isOfOwner }) => !isOfOwner);
    return pages.respond(call, labels, (label) => present.label(label));
  };

  // Gitea's routers/api/v1/org/label.go; a user is not found.
  readonly listOfOwner = (call: TrackerRequest): TrackerResponse => {
    const { tracker, pages, present, project, errors } = this.#repository;
    const labels = tracker.labels().filter(({ isOfOwner }) => isOfOwner);
    const isOwner = call.params.org?.toLowerCase() === project.owner.toLowerCase();
    if (!isOwner || labels.length === 0) throw errors.notFound();
    return pages.respond(call, labels, (label) => present.label(label));
  };

  readonly create = (call: TrackerRequest): TrackerResponse => {
    const { tracker, present, errors } = this.#repository;
    assertRepository(this.#repository, call);
    const { name, color } = membersOf(call.body);
    if (typeof name !== 'string' || name === '') throw errors.required('Name');
    if (typeof color !== 'string' || color === '') throw errors.required('Color');
    return { status: 201, body: present.label(tracker.label(name, color.replace(/^#/, ''))) };
  };

  readonly listOfIssue = (call: TrackerRequest): TrackerResponse =>
    this.#labelsOf(findIssue(this.#repository, call));

  readonly replace = (call: TrackerRequest): TrackerResponse => {
    const issue = findIssue(this.#repository, call);
    return this.#set(issue, this.#named(call));
  };

  readonly add = (call: TrackerRequest): TrackerResponse => {
    const issue = findIssue(this.#repository, call);
    return this.#set(issue, [...issue.labels, ...this.#named(call)]);
  };

  readonly remove = (call: TrackerRequest): TrackerResponse => {
    const issue = findIssue(this.#repository, call);
    const gone = this.#repository.tracker.labels().find(({ id }) => id === Number(call.params.id));
    // Gitea's routers/api/v1/repo/issue_label.go, DeleteIssueLabel.
    if (gone === undefined) throw this.#repository.errors.noSuchLabel(Number(call.params.id));
    this.#set(
      issue,
      issue.labels.filter((name) => name !== gone.name),
    );
    return { status: 204 };
  };

  readonly clear = (call: TrackerRequest): TrackerResponse => {
    this.#set(findIssue(this.#repository, call), []);
    return { status: 204 };
  };

  /** Ids or names; unknown ones are ignored. */
  #named(call: TrackerRequest): string[] {
    const { labels } = membersOf(call.body);
    const asked = Array.isArray(labels) ? labels : [];
    // Gitea's routers/api/v1/repo/issue_label.go, prepareForReplaceOrAdd.
    if (new Set(asked.map((label) => typeof label)).size > 1) throw this.#repository.errors.mixedLabels();
    const found = this.#repository.tracker
      .labels()
      .filter(({ id, name }) => asked.includes(id) || asked.includes(name));
    return found.map(({ name }) => name);
  }

  #set(issue: TrackerIssue, labels: string[]): TrackerResponse {
    this.#repository.tracker.edit(issue, { labels }, BOT);
    return this.#labelsOf(issue);
  }

  #labelsOf(issue: TrackerIssue): TrackerResponse {
    const { tracker, present } = this.#repository;
    return { status: 200, body: issue.labels.map((name) => present.label(tracker.label(name))) };
  }
}
