import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { isReferredTo, isSeen, oneOf, projectKeyOf } from '../issue-store/issue.sql.ts';

/** Whether a person watches an issue. */
export interface WatchState {
  issueId: string;
  isWatching: boolean;
}

/** An issue that a person watches. */
export interface WatchedIssue {
  id: string;
  number: number;
  projectKey: string | null;
  title: string;
  status: IssueStatus;
  priority: IssuePriority;
  updatedAt: Date;
  /** Since when the person watches it. */
  since: Date;
}

/** The keyset position of a watched issue. */
export interface WatchedPlace {
  since: string;
  id: string;
}

/** A page of watched issues, after the last one of the previous page. */
export interface WatchedPage {
  limit: number;
  after: WatchedPlace | undefined;
}

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

/** Selects the issues that a person watches with a row, and those that they reported and watch without one. */
export function selectWatched(scope: ReadScope, userId: string, { limit, after }: WatchedPage): Prisma.Sql {
  const seenRow = isWhole(scope) ? Prisma.empty : Prisma.sql`AND ${isSeen(scope)}`;
  const seen = isWhole(scope)
    ? Prisma.empty
    : Prisma.sql`AND EXISTS (SELECT FROM issues i WHERE i.id = w.issue_id AND ${isSeen(scope)})`;
  const beyond = (place: 'w.since, w.issue_id' | 'i.created_at, i.id') =>
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (${Prisma.raw(place)}) < (${after.since}::timestamptz, ${after.id}::uuid)`;
  return Prisma.sql`
    SELECT i.id, i.number, ${projectKeyOf('i')} AS "projectKey", i.title, i.status, i.priority, i.updated_at AS "updatedAt", w.since FROM (
      (SELECT w.issue_id, w.since FROM issue_watchers w
        WHERE w.user_id = ${userId}::uuid AND w.is_watching ${seen} ${beyond('w.since, w.issue_id')}
        ORDER BY w.since DESC, w.issue_id DESC LIMIT ${limit})
      UNION ALL
      (SELECT i.id, i.created_at FROM issues i
        WHERE i.reporter_id = ${userId}::uuid AND i.reporter_watches ${seenRow} ${beyond('i.created_at, i.id')} AND NOT EXISTS (
          SELECT FROM issue_watchers w WHERE w.issue_id = i.id AND w.user_id = i.reporter_id
        ) ORDER BY i.created_at DESC, i.id DESC LIMIT ${limit})
    ) w CROSS JOIN ${oneOf('issues', 'id = w.issue_id')} i
     ORDER BY w.since DESC, w.issue_id DESC LIMIT ${limit}`;
}
