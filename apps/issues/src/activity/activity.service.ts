import { found } from '../issues/issue.service.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import type { ActivityLine, ActivityRepository } from './activity.repository.ts';

/** Reads the history of an issue. Every active user may read it. */
export class ActivityService {
  readonly #repository: ActivityRepository;

  constructor({ repository }: { repository: ActivityRepository }) {
    this.#repository = repository;
  }

  /** Returns the history of an issue, oldest first. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference, page: { limit: number; after: number }): Promise<ActivityLine[]> {
    return found(await this.#repository.list(reference, page));
  }
}
