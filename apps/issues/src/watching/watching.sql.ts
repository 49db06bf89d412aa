import { Prisma } from '../generated/prisma/client.ts';

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
