import { Prisma } from '../generated/prisma/client.ts';
import type { WatchedPage } from '../watching/watching.ts';

/**
 * Makes people watch an issue because they take part in it, as a CTE of the statement in which they do. `people` selects
 * the ids of the issue and of the people. People who have stopped watching it, or watch it already, stay as they are.
 */
export function startWatching(people: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO issue_watchers (issue_id, user_id)
    SELECT issue_id, user_id FROM (${people}) p (issue_id, user_id)
     WHERE NOT EXISTS (
       SELECT FROM issues i WHERE i.id = p.issue_id AND i.reporter_id = p.user_id AND i.reporter_watches
     ) ON CONFLICT DO NOTHING`;
}

/** The same for people with known ids. */
export function startWatchingAs(issueId: string, userIds: readonly string[]): Prisma.Sql {
  return startWatching(Prisma.sql`SELECT ${issueId}::uuid, unnest(${[...new Set(userIds)]}::uuid[])`);
}

/** Selects the author of a new comment and the people that it mentions. `comment`: a CTE with its row. */
export function participants(comment: 'c' | 'new_comment'): Prisma.Sql {
  const row = Prisma.raw(comment);
  return Prisma.sql`SELECT issue_id, unnest(author_id || mention_ids) FROM ${row} WHERE author_id IS NOT NULL`;
}

/** Selects the issues that a person watches with a row, and those that they reported and watch without one. */
export function selectWatched(userId: string, { limit, after }: WatchedPage): Prisma.Sql {
  const beyond = (place: 'w.since, w.issue_id' | 'i.created_at, i.id') =>
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (${Prisma.raw(place)}) < (${after.since}::timestamptz, ${after.id}::uuid)`;
  return Prisma.sql`
    SELECT i.id, i.number, i.title, i.status, i.priority, i.updated_at AS "updatedAt", w.since FROM (
      (SELECT w.issue_id, w.since FROM issue_watchers w
        WHERE w.user_id = ${userId}::uuid AND w.is_watching ${beyond('w.since, w.issue_id')}
        ORDER BY w.since DESC, w.issue_id DESC LIMIT ${limit})
      UNION ALL
      (SELECT i.id, i.created_at FROM issues i
        WHERE i.reporter_id = ${userId}::uuid AND i.reporter_watches ${beyond('i.created_at, i.id')} AND NOT EXISTS (
          SELECT FROM issue_watchers w WHERE w.issue_id = i.id AND w.user_id = i.reporter_id
        ) ORDER BY i.created_at DESC, i.id DESC LIMIT ${limit})
    ) w JOIN issues i ON i.id = w.issue_id
     ORDER BY w.since DESC, w.issue_id DESC LIMIT ${limit}`;
}
