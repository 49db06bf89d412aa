import { wordQuery } from '@tessera/service-kit';
import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';

type Sql = PrismaTypes.Sql;

/** Maximum number of issues with rare words. Fetching and sorting them takes a few milliseconds. */
const rareMax = 1_000;
/** Maximum number of comments with rare words. Fetching their issues takes less than a tenth of a second. */
const rareCommentsMax = 10_000;

// The planner does not see the value of a subquery: it would expect a beginning in so many issues that it reads all of them.
function query(words: string): Sql {
  const { query: literal, hasPrefix } = wordQuery(words);
  return hasPrefix ? Prisma.sql`(SELECT ${literal}::tsquery)` : Prisma.sql`${literal}::tsquery`;
}

/**
 * Whether a search finds issues by their comments. Almost every issue has a comment without an excluded word, so with one, only the
 * issues themselves are searched.
 */
export function findsComments(words: string): boolean {
  return !wordQuery(words).hasExcluded;
}

/** The condition that the row `i` or one of its comments matches. */
export function hasWords(words: string): Sql {
  if (!findsComments(words)) return hasOwnWords(words);
  // `OFFSET 0` and `IS TRUE` make PostgreSQL read the comments of the single issue, by its id, not those of all issues.
  return Prisma.sql`(${hasOwnWords(words)} OR i.comments_count > 0 AND EXISTS (
    SELECT FROM comments c
     WHERE c.issue_id = i.id AND c.deleted_at IS NULL AND (c.words @@ ${query(words)}) IS TRUE OFFSET 0))`;
}

/** The condition that the title or the description of the row `i` matches. */
export function hasOwnWords(words: string): Sql {
  return Prisma.sql`i.search @@ ${query(words)}`;
}

/** Whether few issues match themselves. Their number is counted by the index up to a limit. */
export function isRare(words: string): Sql {
  return Prisma.sql`count_issues_with(${query(words)}, ${Prisma.raw(String(rareMax + 1))}) <= ${Prisma.raw(String(rareMax))}`;
}

/** Whether few comments match. */
export function isRareInComments(words: string): Sql {
  if (!findsComments(words)) return Prisma.raw('true');
  const [more, max] = [Prisma.raw(String(rareCommentsMax + 1)), Prisma.raw(String(rareCommentsMax))];
  return Prisma.sql`count_comments_with(${query(words)}, ${more}) <= ${max}`;
}

/**
 * The issues that the indexes find, as rows `i`. The conditions, which must not depend on `i`, turn off the search of issues
 * themselves and that of comments.
 */
export function indexedIssues(
  words: string,
  { own = Prisma.raw('true'), comments = Prisma.raw('true') }: { own?: Sql; comments?: Sql } = {},
): Sql {
  const issues = Prisma.sql`SELECT s.issue_id FROM issue_search s WHERE ${own} AND s.words @@ ${query(words)}`;
  const found = findsComments(words)
    ? Prisma.sql`${issues} UNION SELECT c.issue_id FROM comments c WHERE ${comments} AND c.words @@ ${query(words)}`
    : issues;
  return Prisma.sql`(${found}) found JOIN issues i ON i.id = found.issue_id`;
}
