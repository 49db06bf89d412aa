import {
  type CountedField,
  countedAssigneesMax,
  countMax,
  issuePriorities,
  issueStatuses,
} from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { isWhole } from '../issue-core/project-access.ts';
import { joinPerson } from '../issue-store/issue.sql.ts';
import { literal, type Sql, type TrackedRequest } from './issue-conditions.sql.ts';
import { totalMax } from './issue-list.ts';
import { lookToCount } from './issue-look.sql.ts';
import { isLong, isNumbered, lookThrough, searchOf, seenSteps } from './issue-search.sql.ts';
import { countInScope } from './issue-sight.sql.ts';
import { countWalks, walksOf } from './issue-walk.sql.ts';
import { indexedIssues, isRare, isRareInComments } from './issue-words.sql.ts';

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
  const each = isSearch || by === 'assignee' ? undefined : countEach(request, by);
  if (each !== undefined) return each;
  const lookedAt = isWhole(request.scope) ? lookToCount : countInScope;
  const { steps, isWhole: isComplete } = isSearch ? searched(request, by) : lookedAt(request, columns[by]);
  const people = by === 'assignee';
  return Prisma.sql`
    WITH ${steps}, counted AS (
      SELECT value, least(found, ${literal(countMax + 1)})::int AS count FROM grouped WHERE found > 0
       ORDER BY found DESC, value LIMIT ${literal(countedAssigneesMax + 1)}
    )
    SELECT value, count, whole."isComplete" ${people ? Prisma.raw(', person.names') : Prisma.empty}
      FROM (SELECT ${isComplete} AS "isComplete") whole LEFT JOIN counted ON true
      ${people ? joinPerson('person', 'value') : Prisma.empty}
     ORDER BY count DESC, value`;
}

// One limited count for each value, if an index has the issues of each.
function countEach(request: TrackedRequest, by: 'status' | 'priority'): Sql | undefined {
  const values = by === 'status' ? issueStatuses : issuePriorities;
  const asked = request.filters[by] ?? values;
  const counts = values
    .filter((value) => asked.some((one) => one === value))
    .map((value) => {
      const walks = walksOf({ ...request, filters: { ...request.filters, [by]: [value] } });
      if (walks === undefined) return undefined;
      return Prisma.sql`
        SELECT ${Prisma.raw(`'${value}'`)} AS value, ${countWalks(walks, countMax + 1)} AS count, true AS "isComplete"`;
    });
  const possible = counts.filter((one) => one !== undefined);
  return possible.length === 0 || possible.length < counts.length
    ? undefined
    : Prisma.join(possible, ' UNION ALL ');
}

// For rare words all issues that have them, otherwise those among the newest issues, within the bounds of the total of a list.
function searched(request: TrackedRequest, by: CountedField): { steps: Sql; isWhole: Sql } {
  const search = searchOf(request);
  const { words, conditions } = search;
  const numbered = isNumbered(request);
  const isChosen = Prisma.sql`(SELECT is_rare FROM chosen)`;
  const found = indexedIssues(words, { own: isChosen, comments: isChosen });
  return {
    steps: Prisma.sql`
      ${seenSteps(request, [search])}
      chosen AS MATERIALIZED (
        SELECT ${isRare(words)} AND ${isRareInComments(words)} AS is_rare
      ), read AS MATERIALIZED (
        SELECT ${columns[by]} AS value, i.is_read, i.is_found FROM (${lookThrough(search)}) i WHERE NOT ${isChosen}
      ), grouped AS MATERIALIZED (
        SELECT value, count(*) AS found FROM (
          SELECT value FROM read WHERE is_found
          UNION ALL
          SELECT ${columns[by]} FROM ${found} WHERE ${isChosen} AND ${conditions}
          ${numbered === undefined ? Prisma.empty : Prisma.sql`UNION ALL SELECT ${columns[by]} FROM issues i WHERE ${numbered}`}
        ) matching GROUP BY value
      )`,
    isWhole: Prisma.sql`(
      SELECT ${isChosen} OR (count(*) <= ${literal(totalMax)} AND coalesce(bool_and(is_read), true) AND NOT ${isLong(search)}) FROM read)`,
  };
}
