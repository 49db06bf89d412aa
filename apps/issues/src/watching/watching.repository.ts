import type { Database } from '../database.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import { isReferredTo } from '../issue-store/issue.sql.ts';
import { selectWatched } from './watching.sql.ts';
import type { WatchedIssue, WatchedPage, WatchState } from './watching.ts';

/** Reads who watches issues. */
export class WatchingRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns whether a person watches an issue; undefined if the issue does not exist. */
  async find(reference: IssueReference, userId: string): Promise<WatchState | undefined> {
    const [state] = await this.#database.$queryRaw<WatchState[]>`
      SELECT i.id AS "issueId", coalesce(w.is_watching, i.reporter_watches AND i.reporter_id = ${userId}::uuid) AS "isWatching"
        FROM issues i LEFT JOIN issue_watchers w ON w.issue_id = i.id AND w.user_id = ${userId}::uuid
       WHERE ${isReferredTo(reference)}`;
    return state;
  }

  /** Returns the issues of a scope that a person watches, the last watched first. */
  async list(scope: ReadScope, userId: string, page: WatchedPage): Promise<WatchedIssue[]> {
    return this.#database.$queryRaw<WatchedIssue[]>(selectWatched(scope, userId, page));
  }
}
