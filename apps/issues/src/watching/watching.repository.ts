import type { Database } from '../database.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isReferredTo } from '../issue-store/issue.sql.ts';
import { selectWatched } from '../issue-store/watching.sql.ts';
import type { WatchedIssue, WatchedPage, WatchState } from './watching.ts';

/**
 * The watchers of issues. A pair of an issue and a person has no row, or one that is on or off:
 *
 * |              | no row | on  | off |
 * | ------------ | ------ | --- | --- |
 * | takes part   | on     | on  | off |
 * | watches      | on     | on  | on  |
 * | stops        | off    | off | off |
 *
 * The statements in which a person takes part (is assigned, comments, is mentioned) contain `startWatching`. The reporter
 * of an issue that was not imported watches it without a row, so that creating an issue writes none. All watchers of an
 * issue are thus the rows that are on, and the reporter if `reporter_watches` and there is no row of the reporter.
 */
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

  /** Makes a person watch an issue, or stop watching it; undefined if the issue does not exist. */
  async set(reference: IssueReference, userId: string, isWatching: boolean): Promise<WatchState | undefined> {
    const [state] = await this.#database.$queryRaw<WatchState[]>`
      WITH i AS (
        SELECT i.id, w.user_id IS NULL AND i.reporter_watches AND i.reporter_id = ${userId}::uuid AS watches_without_row
          FROM issues i LEFT JOIN issue_watchers w ON w.issue_id = i.id AND w.user_id = ${userId}::uuid
         WHERE ${isReferredTo(reference)}
      ), written AS (
        INSERT INTO issue_watchers AS w (issue_id, user_id, is_watching)
        SELECT id, ${userId}::uuid, ${isWatching}::boolean FROM i
         WHERE NOT (watches_without_row AND ${isWatching}::boolean)
        ON CONFLICT (issue_id, user_id) DO UPDATE SET is_watching = excluded.is_watching, since = excluded.since
          WHERE w.is_watching <> excluded.is_watching
      )
      SELECT id AS "issueId", ${isWatching}::boolean AS "isWatching" FROM i`;
    return state;
  }

  /** Returns the issues that a person watches, the last watched first. */
  async list(userId: string, page: WatchedPage): Promise<WatchedIssue[]> {
    return this.#database.$queryRaw<WatchedIssue[]>(selectWatched(userId, page));
  }
}
