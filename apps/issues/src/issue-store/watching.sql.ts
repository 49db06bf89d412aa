import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isWritten } from './sight.sql.ts';

/**
 * The watchers of issues. A pair of an issue and a person has no row, or one that is on or off:
 *
 * |              | no row | on  | off |
 * | ------------ | ------ | --- | --- |
 * | takes part   | on     | on  | off |
 * | watches      | on     | on  | on  |
 * | stops        | off    | off | off |
 *
 * A change in which a person takes part (is assigned, comments, is mentioned) contains `startWatching`. The reporter
 * of an issue that was not imported watches it without a row, so that creating an issue writes none. All watchers of an
 * issue are thus the rows that are on, and the reporter if `reporter_watches` and there is no row of the reporter.
 */
export function setWatching(reference: IssueReference, userId: string, isWatching: boolean): Prisma.Sql {
  return Prisma.sql`
    WITH i AS (
      SELECT i.id, w.user_id IS NULL AND i.reporter_watches AND i.reporter_id = ${userId}::uuid AS watches_without_row
        FROM issues i LEFT JOIN issue_watchers w ON w.issue_id = i.id AND w.user_id = ${userId}::uuid
       WHERE ${isWritten(reference)}
    ), written AS (
      INSERT INTO issue_watchers AS w (issue_id, user_id, is_watching)
      SELECT id, ${userId}::uuid, ${isWatching}::boolean FROM i
       WHERE NOT (watches_without_row AND ${isWatching}::boolean)
      ON CONFLICT (issue_id, user_id) DO UPDATE SET is_watching = excluded.is_watching, since = excluded.since
        WHERE w.is_watching <> excluded.is_watching
    )
    SELECT id FROM i`;
}

/** While an issue has so many watchers, others cannot make a person watch it: who mentions thousands would notify them of each change. */
export const watchersByOthersMax = 1_000;

/**
 * Makes people watch an issue because they take part in it. `people` selects rows of issues with `user_id`. People who have
 * stopped watching it, or watch it already, stay as they are. A reporter who watches without a row gets none.
 */
export function startWatching(people: Prisma.Sql, actorId: string | null): Prisma.Sql {
  const max = Prisma.raw(String(watchersByOthersMax));
  return Prisma.sql`
    INSERT INTO issue_watchers (issue_id, user_id)
    SELECT DISTINCT p.id, p.user_id FROM (${people}) p
     WHERE NOT (p.reporter_id = p.user_id AND p.reporter_watches) AND (
       p.user_id = ${actorId}::uuid OR ${max} > (
         SELECT count(*) FROM (SELECT FROM issue_watchers w WHERE w.issue_id = p.id AND w.is_watching LIMIT ${max}) w
       )
     ) ON CONFLICT DO NOTHING`;
}
