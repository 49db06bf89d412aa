import { Prisma } from '../generated/prisma/client.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { isSeen, oneOf, projectKeyOf } from '../issue-store/issue.sql.ts';
import type { WatchedPage } from './watching.ts';

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
