import {
  type CountedField,
  countedAssigneesMax,
  countMax,
  issuePriorities,
  issueStatuses,
} from '@tessera/contracts';
import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { joinPerson } from '../issue-store/issue.sql.ts';
import {
  conditionsOf,
  isNumbered,
  literal,
  lookThrough,
  searchOf,
  type TrackedRequest,
} from './issue-list.sql.ts';
import { totalMax } from './issue-list.ts';
import { indexedIssues, isRare, isRareInComments } from './issue-words.sql.ts';

type Sql = PrismaTypes.Sql;

/** Maximum number of issues that are read to count them by assignee: a tenth of a second. */
const readMax = 100_000;

const columns: Readonly<Record<CountedField, Sql>> = {
  status: Prisma.raw('i.status::text'),
  priority: Prisma.raw('i.priority::text'),
  assignee: Prisma.raw('i.assignee_id'),
};

/**
 * Counts the issues of a list by a member, each value up to one more than `countMax`. Returns a row for each value, with
 * `names` for an assignee, or a row without a count. `isComplete` is false if only a part of the issues was counted.
 */
export function countStatement(request: TrackedRequest, by: CountedField): Sql {
  const isSearch = request.filters.search !== undefined;
  if (!isSearch && by === 'status') return countEach(request, by, issueStatuses);
  if (!isSearch && by === 'priority') return countEach(request, by, issuePriorities);
  const { read, isComplete } = isSearch ? searched(request, by) : newest(request, by);
  const people = by === 'assignee';
  return Prisma.sql`
    WITH ${read}, counted AS (
      SELECT value, least(count(*), ${literal(countMax + 1)})::int AS count FROM matching GROUP BY value
       ORDER BY count(*) DESC, value LIMIT ${literal(countedAssigneesMax + 1)}
    )
    SELECT value, count, whole."isComplete" ${people ? Prisma.raw(', person.names') : Prisma.empty}
      FROM (SELECT ${isComplete} AS "isComplete") whole LEFT JOIN counted ON true
      ${people ? joinPerson('person', 'value') : Prisma.empty}
     ORDER BY count DESC, value`;
}

// One limited count for each value. Reads the newest issues first, like the total of a list.
function countEach(request: TrackedRequest, by: 'status' | 'priority', values: readonly string[]): Sql {
  const conditions = conditionsOf(request);
  const counts = values.map(
    (value) => Prisma.sql`
      SELECT ${Prisma.raw(`'${value}'`)} AS value, count(*)::int AS count, true AS "isComplete" FROM (
        SELECT FROM issues i WHERE ${Prisma.raw(`i.${by} = '${value}'`)} AND ${conditions}
         ORDER BY i.created_at DESC LIMIT ${literal(countMax + 1)}
      ) found`,
  );
  return Prisma.join(counts, ' UNION ALL ');
}

interface Matching {
  /** CTEs, of which `matching` has the value of each issue to count. */
  read: Sql;
  isComplete: Sql;
}

function newest(request: TrackedRequest, by: CountedField): Matching {
  return {
    read: Prisma.sql`matching AS MATERIALIZED (
      SELECT ${columns[by]} AS value FROM issues i WHERE ${conditionsOf(request)}
       ORDER BY i.created_at DESC LIMIT ${literal(readMax + 1)})`,
    isComplete: Prisma.sql`(SELECT count(*) <= ${literal(readMax)} FROM matching)`,
  };
}

// For rare words all issues that have them, otherwise those among the newest issues, within the bounds of the total of a list.
function searched(request: TrackedRequest, by: CountedField): Matching {
  const search = searchOf(request);
  const { words, conditions } = search;
  const numbered = isNumbered(request);
  const isChosen = Prisma.sql`(SELECT is_rare FROM chosen)`;
  const found = indexedIssues(words, { own: isChosen, comments: isChosen });
  return {
    read: Prisma.sql`
      chosen AS MATERIALIZED (
        SELECT ${isRare(words)} AND ${isRareInComments(words)} AS is_rare
      ), read AS MATERIALIZED (
        SELECT ${columns[by]} AS value, i.is_read, i.is_found FROM (${lookThrough(search)}) i WHERE NOT ${isChosen}
      ), matching AS MATERIALIZED (
        SELECT value FROM read WHERE is_found
        UNION ALL
        SELECT ${columns[by]} FROM ${found} WHERE ${isChosen} AND ${conditions}
        ${numbered === undefined ? Prisma.empty : Prisma.sql`UNION ALL SELECT ${columns[by]} FROM issues i WHERE ${numbered}`}
      )`,
    isComplete: Prisma.sql`(
      SELECT ${isChosen} OR (count(*) <= ${literal(totalMax)} AND coalesce(bool_and(is_read), true)) FROM read)`,
  };
}
