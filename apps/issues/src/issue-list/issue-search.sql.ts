import { orderingFields } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { NumberReference } from '../issue-core/issue-reference.ts';
import { isWhole, type ReadScope, systemScope } from '../issue-core/project-access.ts';
import { isNumber, isSeen, oneOf } from '../issue-store/issue.sql.ts';
import {
  afterPlace,
  every,
  filterConditions,
  literal,
  orderBy,
  type Sql,
  type TrackedRequest,
} from './issue-conditions.sql.ts';
import { completeOrder, totalMax } from './issue-list.ts';
import { eachSeen, endsOf, isPlain, seenProjects, shareOf } from './issue-seen.sql.ts';
import { isIndexed, walk, walksOf, wholeWalk } from './issue-walk.sql.ts';
import { hasOwnWords, hasWords, indexedIssues, isRare, isRareInComments } from './issue-words.sql.ts';

/** The columns that a page and its cursor contain. */
export const columns = Prisma.raw(
  ['id', 'rev', 'reporter_id', 'assignee_id', 'label_ids', ...orderingFields]
    .map((name) => `i.${name}`)
    .join(', '),
);

/** Maximum number of issues of a list that a search looks at without the index of words. */
const walkMax = 20_000;

/** The list in which a search looks for words. `name` begins the names of its CTEs. */
export function searchOf(request: TrackedRequest, name = 'list'): SearchedList {
  const { filters, sort, size, offset, scope } = request;
  // In an order that no index has, a search looks at the newest issues.
  const ordered = isIndexed(sort) ? request : { ...request, sort: completeOrder(), after: undefined };
  const listed = { ...filters, search: undefined, searchedNumber: undefined };
  const [only, ...others] = walksOf({ ...ordered, filters: listed, scope: systemScope }) ?? [];
  const path = walk(only !== undefined && others.length === 0 ? only : wholeWalk(ordered));
  const all = { rows: Prisma.sql`SELECT i.* ${path} LIMIT ${literal(walkMax)}`, isLong: isLongerThan(path) };
  const search = {
    words: filters.search ?? '',
    conditions: conditionsOf(request),
    order: orderBy(sort),
    limit: size + 1 + offset,
  };
  if (isWhole(scope)) return { ...search, steps: [], ways: [all] };
  const dense = Prisma.raw(`${name}_dense`);
  const share = Prisma.raw(`${name}_share`);
  const isDense = Prisma.sql`(SELECT is_dense FROM ${dense})`;
  // Rare words need no look: the indexes find all.
  const isCertain = Prisma.sql`(SELECT is_rare AND is_rare_in_comments FROM rarity)`;
  const rarity = Prisma.sql`rarity AS MATERIALIZED (
    SELECT CASE WHEN NOT is_dense THEN ${isRare(search.words)} END AS is_rare,
           CASE WHEN NOT is_dense THEN ${isRareInComments(search.words)} END AS is_rare_in_comments
      FROM ${dense})`;
  const read = {
    columns: Prisma.raw('i.*'),
    conditions: [],
    share: Prisma.sql`(SELECT issues FROM ${share})`,
  };
  const sought = {
    rows: eachSeen(ordered, { ...read, selected: Prisma.raw('i.*') }, false),
    isLong: Prisma.sql`EXISTS (${endsOf(ordered, read.share)})`,
  };
  // Where every seen issue is in the list, the indexes of the projects tell which are the first.
  const ids = eachSeen(ordered, { ...read, selected: Prisma.raw('i.created_at, i.id') }, true);
  const first = Prisma.sql`
    SELECT i.* FROM (SELECT i.id FROM (${ids}) i ORDER BY ${orderBy(ordered.sort)} LIMIT ${literal(nearbyMax)}) one
     CROSS JOIN ${oneOf('issues', 'id = one.id')} i`;
  return {
    ...search,
    steps: [
      Prisma.sql`${share} AS MATERIALIZED (${shareOf(ordered, false)})`,
      Prisma.sql`${dense} AS MATERIALIZED (
        SELECT count(*) FILTER (WHERE ${isSeen(scope)}) * 2 >= count(*) OR NOT ${all.isLong} AS is_dense
          FROM (SELECT i.project_id, i.reporter_id, i.assignee_id ${path} LIMIT ${literal(nearbyMax)}) i)`,
      ...(name === 'list' ? [rarity] : []),
    ],
    ways: [
      { ...all, isUsed: isDense },
      {
        ...sought,
        ...(isPlain({ ...ordered, filters: listed }) ? { first } : {}),
        isUsed:
          name === 'list' ? Prisma.sql`NOT ${isDense} AND NOT ${isCertain}` : Prisma.sql`NOT ${isDense}`,
      },
    ],
  };
}

function isLongerThan(path: Sql): Sql {
  return Prisma.sql`EXISTS (SELECT ${path} LIMIT 1 OFFSET ${literal(walkMax)})`;
}

/** The CTEs that searches use, as the first ones of a statement. */
export function seenSteps(request: TrackedRequest, searches: readonly SearchedList[]): Sql {
  const steps = searches.flatMap((search) => search.steps);
  if (steps.length === 0) return Prisma.empty;
  return Prisma.sql`${Prisma.join([seenProjects(request), ...steps])},`;
}

function conditionsOf(request: TrackedRequest): Sql {
  const { filters, scope } = request;
  const { searchedNumber } = filters;
  return every([
    ...filterConditions(request),
    ...afterPlace(request),
    // The issue with the searched number is first in the list and must not appear again.
    ...(searchedNumber === undefined ? [] : [isOther(searchedNumber, scope)]),
  ]);
}

/** The condition of the issue with the searched number. It is the first issue of the first page. */
export function isNumbered(request: TrackedRequest): Sql | undefined {
  const { filters, after: end } = request;
  const { searchedNumber } = filters;
  if (searchedNumber === undefined || end !== undefined) return undefined;
  return every([...filterConditions(request), isNumber(searchedNumber, request.scope)]);
}

function isOther(searched: NumberReference, scope: ReadScope): Sql {
  return searched.prefix === undefined
    ? Prisma.sql`i.number <> ${searched.number}::bigint`
    : Prisma.sql`NOT ${isNumber(searched, scope)}`;
}

/** Selects the rows `i` of a page of a search, and perhaps more. */
export function searched(request: TrackedRequest): Sql {
  const found = foundIssues(searchOf(request));
  const numbered = isNumbered(request);
  return numbered === undefined
    ? found
    : Prisma.sql`(SELECT true AS is_searched, ${columns} FROM issues i WHERE ${numbered}) UNION ALL ${found}`;
}

/** Limits of the first search step in issues, in bytes of their indexed words, and in comments: a few milliseconds. */
const nearbyMax = 2_000;
const nearbyBytesMax = 8 * 1024 * 1024;
const nearbyCommentsMax = 4_000;

/** Issues in which a search looks, before `conditions` apply. */
interface Way {
  /** Selects the rows `i`, in order or all of them. */
  rows: Sql;
  /** Selects the first `nearbyMax` of them; by default, they are the first rows. */
  first?: Sql;
  /** Whether the list has others. */
  isLong: Sql;
  /** Whether the search takes this way; without it, it does. */
  isUsed?: Sql;
}

export interface SearchedList {
  words: string;
  /** The conditions of a row `i` except the search. */
  conditions: Sql;
  /**
   * Where it looks: in all issues, or, if the reader does not see every second one of the first issues, in the newest of each project
   * that the reader sees.
   */
  ways: readonly Way[];
  /** The CTEs that decide which way. */
  steps: readonly Sql[];
  order: Sql;
  /** Maximum number of rows. */
  limit: number;
}

/**
 * The steps of a search as CTEs of its statement. No single strategy suits all words: scanning the list until enough
 * issues match is fast for a common word and takes seconds for a word without matches; fetching all matches is the
 * reverse. PostgreSQL's planner cannot choose, because its statistics contain only the thousand most common words. The
 * statement therefore measures first:
 * - `near`: the matches among the next 2,000 issues of the list. If they are enough, or the list is not longer, nothing else runs;
 * - `rare`: if an index finds at most 1,000 matching issues, or at most 10,000 matching comments, fetches all of these issues;
 * - `walk`: if more issues match, a scan of the list soon finds enough. It ends after 20,000 issues, so that filters that few issues
 *   match do not make it read all.
 * If more comments match, those of issues beyond the next 2,000 are not considered: they may all be comments of one issue, which a
 * scan would find after all others.
 */
export function searchSteps(search: SearchedList, total: TrackedRequest['total']): Sql {
  const { words, conditions, order, limit, ways } = search;
  // For a reader who sees few of the first issues, that is known already.
  const once = (name: string, measured: Sql) =>
    ways.length === 1
      ? measured
      : Prisma.sql`coalesce((SELECT ${Prisma.raw(name)} FROM rarity), ${measured})`;
  const own = Prisma.sql`(SELECT is_rare FROM chosen)`;
  const comments = Prisma.sql`(SELECT is_rare_in_comments FROM chosen)`;
  const isMeasured = total === 'exact' ? Prisma.sql`true` : Prisma.sql`NOT is_near`;
  return Prisma.sql`
    nearby AS MATERIALIZED (${firstIssues(search, nearbyMax)}),
    near AS MATERIALIZED (
      SELECT ${columns} FROM nearby i WHERE ${isWithin(1)} AND ${hasWords(words)} ORDER BY ${order} LIMIT ${limit}
    ), chosen AS MATERIALIZED (
      SELECT is_near, CASE WHEN ${isMeasured} THEN ${once('is_rare', isRare(words))} END AS is_rare,
             CASE WHEN ${isMeasured} THEN ${once('is_rare_in_comments', isRareInComments(words))} END AS is_rare_in_comments
        FROM (SELECT (SELECT count(*) FROM near) >= ${limit}
                  OR (SELECT count(*) < ${nearbyMax} AND coalesce(bool_and(${isWithin(1)}), true) FROM nearby i)
                 AND NOT ${isLong(search)} AS is_near) measured
    ), rare AS MATERIALIZED (
      SELECT ${columns} FROM ${indexedIssues(words, { own, comments })} WHERE (${own} OR ${comments}) AND ${conditions}
    )`;
}

/**
 * Selects the first issues of a list with their indexed words, and as `bytes` the cumulative size of the words, as `comments` that of
 * their comments. PostgreSQL knows the size without reading the words.
 */
function firstIssues({ conditions, ways, order }: SearchedList, count: number): Sql {
  const cumulative = Prisma.sql`OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  return eachWay(
    ways,
    ({ rows, first }) => Prisma.sql`
    SELECT ${columns}, i.comments_count, i.search,
           sum(pg_column_size(i.search)) ${cumulative} AS bytes, sum(i.comments_count) ${cumulative} AS comments
      FROM (${count > nearbyMax ? rows : (first ?? rows)}) i WHERE ${conditions} ORDER BY ${order} LIMIT ${literal(count)}`,
  );
}

/** Selects from the rows of the way that a search takes. PostgreSQL does not run the other one. */
function eachWay(ways: readonly Way[], select: (way: Way) => Sql): Sql {
  const selected = ways.map((way) =>
    way.isUsed === undefined ? select(way) : Prisma.sql`SELECT * FROM (${select(way)}) i WHERE ${way.isUsed}`,
  );
  return Prisma.join(selected, ' UNION ALL ');
}

/** Whether a search does not look at all issues of its list. */
export function isLong({ ways }: SearchedList): Sql {
  const cases = ways.map((way) => Prisma.sql`WHEN ${way.isUsed ?? Prisma.raw('true')} THEN ${way.isLong}`);
  return Prisma.sql`CASE ${Prisma.join(cases, ' ')} ELSE true END`;
}

/** The condition that the words of a row of `firstIssues` and those before it are few enough to read. */
function isWithin(times: number): Sql {
  return Prisma.raw(`(i.bytes <= ${times * nearbyBytesMax} AND i.comments <= ${times * nearbyCommentsMax})`);
}

/**
 * Looks through the first issues of a list, to count the matches. Selects as `is_found` whether an issue matches, and as `is_read`
 * whether that is known.
 */
export function lookThrough(search: SearchedList): Sql {
  return Prisma.sql`
    SELECT ${columns}, ${isWithin(4)} AS is_read, CASE WHEN ${isWithin(4)} THEN ${hasWords(search.words)} END AS is_found
      FROM (${firstIssues(search, totalMax + 1)}) i`;
}

/** Selects the issues that a search has found: at least `limit`, if so many match. */
function foundIssues({ words, conditions, ways, order, limit }: SearchedList): Sql {
  const walked = eachWay(
    ways,
    ({ rows }) => Prisma.sql`
      SELECT ${columns} FROM (${rows}) i
       WHERE NOT (SELECT is_rare FROM chosen) AND ${hasOwnWords(words)} AND ${conditions} ORDER BY ${order} LIMIT ${limit}`,
  );
  return Prisma.sql`
    SELECT false AS is_searched, ${columns} FROM (
      SELECT ${columns} FROM near i
      UNION
      SELECT ${columns} FROM rare i
      UNION
      (${walked})
    ) i`;
}

/** The search in the whole list, independent of the page. */
export function wholeSearchOf(request: TrackedRequest): SearchedList {
  return searchOf({ ...request, sort: completeOrder(), after: undefined }, 'whole');
}

/**
 * The number of matches, and whether it is that of the whole list: if an index finds few, or the list is short enough to be looked
 * through. Otherwise NULL, or for an exact total the number among the first issues.
 */
export function totalOfSearch(request: TrackedRequest): { total: Sql; isWhole: Sql } {
  const search = wholeSearchOf(request);
  const isRareAtAll = Prisma.sql`(SELECT is_rare AND is_rare_in_comments FROM chosen)`;
  const listed = eachWay(
    search.ways,
    ({ rows }) =>
      Prisma.sql`SELECT FROM (${rows}) i WHERE ${search.conditions} LIMIT ${literal(totalMax + 1)}`,
  );
  const isShort = Prisma.sql`(
    NOT ${isLong(search)} AND (SELECT count(*) FROM (${listed}) listed) <= ${literal(totalMax)})`;
  const looked = (selected: Sql) =>
    Prisma.sql`(SELECT ${selected} FROM (${lookThrough(search)}) looked_through)`;
  const found = Prisma.sql`count(*) FILTER (WHERE is_found)::int`;
  const isRead = Prisma.sql`coalesce(bool_and(is_read), true)`;
  const isLooked =
    request.total === 'exact' ? Prisma.sql`true` : Prisma.sql`(SELECT is_near FROM chosen) AND ${isShort}`;
  const counted = request.total === 'exact' ? found : Prisma.sql`CASE WHEN ${isRead} THEN ${found} END`;
  const numbered = isNumbered(request);
  return {
    total: Prisma.sql`
      CASE WHEN ${isRareAtAll} THEN (SELECT count(*)::int FROM rare i) WHEN ${isLooked} THEN ${looked(counted)} END
      ${numbered === undefined ? Prisma.empty : Prisma.sql`+ (SELECT count(*)::int FROM issues i WHERE ${numbered})`}`,
    isWhole: Prisma.sql`(${isRareAtAll} OR ${isShort} AND ${looked(isRead)})`,
  };
}
