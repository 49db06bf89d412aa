import type { IssueReference } from '../issue-core/issue-reference.ts';
import { found } from '../issues/issue.service.ts';
import type { ActivityLine, ActivityPage, ActivityRepository } from './activity.repository.ts';

/** Reads the history of an issue. Every active user may read it. */
export class ActivityService {
  readonly #repository: ActivityRepository;

  constructor({ repository }: { repository: ActivityRepository }) {
    this.#repository = repository;
  }

  /** Returns a page of the history of an issue. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference, page: ActivityPage): Promise<ActivityLine[]> {
    return found(await this.#repository.list(reference, page));
  }
}
