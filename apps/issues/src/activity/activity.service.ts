import { found } from '../issues/issue.service.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import type { ActivityLine, ActivityRepository } from './activity.repository.ts';

export interface ActivityPage {
  lines: ActivityLine[];
  /** The last line of this page, if there are more. */
  end: number | undefined;
}

/** The history of an issue. Every active user may read it. */
export class ActivityService {
  readonly #repository: ActivityRepository;

  constructor({ repository }: { repository: ActivityRepository }) {
    this.#repository = repository;
  }

  /** The history of an issue, oldest first. */
  async list(
    reference: IssueReference,
    { size, after }: { size: number; after: number },
  ): Promise<ActivityPage> {
    const rows = found(await this.#repository.list(reference, { limit: size + 1, after }));
    const lines = rows.slice(0, size);
    return { lines, end: rows.length > size ? lines.at(-1)?.id : undefined };
  }
}
