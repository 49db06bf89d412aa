import { Prisma } from '../generated/prisma/client.ts';
import { issueColumns } from '../issues/issue-document.repository.ts';
import { totalMax } from './issue-list.ts';

/** Issues that are looked through for the words before anything else is tried: about a millisecond. */
const nearbyMax = 2_000;
/** Words that at most so many issues have are rare: to fetch and sort all of those takes some milliseconds. */
const rareMax = 1_000;

interface SearchedList {
  words: string;
  /** What else a row `i` must fulfil, but for the words. */
  conditions: Prisma.Sql;
  order: Prisma.Sql;
  /** Rows that are wanted at most. */
  limit: number;
}

function hasWords(words: string): Prisma.Sql {
  return Prisma.sql`i.search @@ ${query(words)}`;
}

function query(words: string): Prisma.Sql {
  return Prisma.sql`websearch_to_tsquery('issue_text', ${words})`;
}

/**
 * How a search goes about it, as CTEs of its statement. No one way is good for all words: walking the list until enough
 * issues have the word is best for a common one and takes seconds for one that none has; fetching all that have it is the
 * reverse. PostgreSQL's own choice rests on statistics that know the thousand commonest words alone. So the statement
 * looks itself, and of the ways only one runs:
 * - `near`: the next 2,000 issues of the list hold enough of them, or are all that there are;
 * - `rare`: at most 1,000 issues have the words, as the search index counts them: all are fetched;
 * - `walk`: neither, so the words are common enough that a walk meets them before long.
 */
export function searchSteps({ words, conditions, order, limit }: SearchedList): Prisma.Sql {
  return Prisma.sql`
    near AS MATERIALIZED (
      SELECT ${issueColumns} FROM (
        SELECT ${issueColumns}, search FROM issues i WHERE ${conditions} ORDER BY ${order} LIMIT ${nearbyMax}
      ) i WHERE ${hasWords(words)} ORDER BY ${order} LIMIT ${limit}
    ), chosen AS MATERIALIZED (
      SELECT CASE
        WHEN (SELECT count(*) FROM near) >= ${limit} THEN 'near'
        WHEN (SELECT count(*) FROM (
               SELECT FROM issues i WHERE ${conditions} ORDER BY ${order} LIMIT ${nearbyMax}) nearby
             ) < ${nearbyMax} THEN 'near'
        WHEN count_issues_with(${query(words)}, ${rareMax + 1}::int) <= ${rareMax} THEN 'rare'
        ELSE 'walk' END AS way
    ), rare AS MATERIALIZED (
      SELECT ${issueColumns} FROM issues i
       WHERE (SELECT way FROM chosen) = 'rare' AND ${hasWords(words)} AND ${conditions}
    )`;
}

/** The issues that the chosen way finds; at least as many as are wanted, where there are. */
export function foundIssues({ words, conditions, order, limit }: SearchedList): Prisma.Sql {
  return Prisma.sql`
    (SELECT false AS is_searched, ${issueColumns} FROM near WHERE (SELECT way FROM chosen) = 'near')
    UNION ALL
    (SELECT false, ${issueColumns} FROM rare)
    UNION ALL
    (SELECT false, ${issueColumns} FROM issues i
      WHERE (SELECT way FROM chosen) = 'walk' AND ${hasWords(words)} AND ${conditions}
      ORDER BY ${order} LIMIT ${limit})`;
}

/** How many there are, where the way there has shown it or a list is short enough to be looked through; else NULL. */
export function cheapTotal({ words, conditions, order }: SearchedList): Prisma.Sql {
  return Prisma.sql`
    CASE (SELECT way FROM chosen)
      WHEN 'rare' THEN (SELECT count(*)::int FROM rare)
      WHEN 'near' THEN (
        SELECT CASE WHEN count(*) <= ${totalMax} THEN count(*) FILTER (WHERE found)::int END
          FROM (SELECT ${hasWords(words)} AS found FROM issues i
                 WHERE ${conditions} ORDER BY ${order} LIMIT ${totalMax + 1}) looked_through)
    END`;
}

/** How many there are, however long it takes. */
export function exactTotal({ words, conditions }: SearchedList): Prisma.Sql {
  return Prisma.sql`(SELECT count(*)::int FROM issues i WHERE ${hasWords(words)} AND ${conditions})`;
}
