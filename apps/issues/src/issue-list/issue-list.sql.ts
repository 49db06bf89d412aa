import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { people, revisionColumns, selectSynced, trackerLink } from '../issue-store/issue.sql.ts';
import {
  type IssueFilters,
  type IssueListRequest,
  type SortField,
  type SortKey,
  type SortValue,
  totalMax,
} from './issue-list.ts';
import { hasOwnWords, hasWords, indexedIssues, isRare, isRareInComments } from './issue-words.sql.ts';

type Sql = PrismaTypes.Sql;

/**
 * Selects the issues of a page in order with their revisions, and one more issue if another page exists. If a total is
 * requested, each row contains it, and an empty page is one row without an issue.
 */
export function pageStatement(asked: IssueListRequest, tracker: TrackerIdentity | undefined): Sql {
  const { sort, size, offset, filters, total } = asked;
  const request = { ...asked, tracker };
  const isSearch = filters.search !== undefined;
  const order = isSearch ? Prisma.sql`i.is_searched DESC, ${orderBy(sort)}` : orderBy(sort);
  const page = Prisma.sql`
    (SELECT * FROM (${isSearch ? searched(request) : listed(request)}) i
      ORDER BY ${order} LIMIT ${literal(size + 1)} ${
        offset === 0 ? Prisma.empty : Prisma.sql`OFFSET ${offset}`
      }) i`;
  return Prisma.sql`
    ${isSearch ? Prisma.sql`WITH ${searchSteps(searchOf(request))}` : Prisma.empty}
    SELECT i.id, ${revisionColumns(tracker)}, reporter.names AS "reporterName", assignee.names AS "assigneeName"
           ${isSearch ? Prisma.sql`, i.is_searched AS "isSearched"` : Prisma.empty}
           ${total === 'none' ? Prisma.empty : Prisma.sql`, counted.total`}
      FROM ${total === 'none' ? page : Prisma.sql`(SELECT ${totalOf(request)} AS total) counted LEFT JOIN ${page} ON true`}
      ${people} ${trackerLink(tracker)}
     ORDER BY ${order}`;
}

/** A list request with the configured tracker, to which the filter `sync` applies. */
export interface TrackedRequest extends IssueListRequest {
  tracker: TrackerIdentity | undefined;
}

/** The columns that a page and its cursor contain. */
const columns = Prisma.raw(
  'i.id, i.rev, i.reporter_id, i.assignee_id, i.number, i.title, i.priority, i.status, i.created_at, i.updated_at, i.label_ids',
);

function listed(request: TrackedRequest): Sql {
  return Prisma.sql`SELECT ${columns} FROM issues i WHERE ${conditionsOf(request)}`;
}

function searched(request: TrackedRequest): Sql {
  const found = foundIssues(searchOf(request));
  const numbered = isNumbered(request);
  return numbered === undefined
    ? found
    : Prisma.sql`(SELECT true AS is_searched, ${columns} FROM issues i WHERE ${numbered}) UNION ALL ${found}`;
}

export function searchOf(request: TrackedRequest) {
  const { filters, sort, size, offset } = request;
  return {
    words: filters.search ?? '',
    conditions: conditionsOf(request),
    order: orderBy(sort),
    limit: size + 1 + offset,
  };
}

export function conditionsOf(request: TrackedRequest): Sql {
  const { filters, sort, after: end } = request;
  const { searchedNumber } = filters;
  return every([
    ...filterConditions(request),
    ...(end === undefined || end.length === 0 ? [] : [after(sort, end)]),
    // The issue with the searched number is first in the list and must not appear again.
    ...(searchedNumber === undefined ? [] : [Prisma.sql`i.number <> ${searchedNumber}::bigint`]),
  ]);
}

// Selects the issue with the searched number. It is the first issue of the first page.
export function isNumbered(request: TrackedRequest): Sql | undefined {
  const { filters, after: end } = request;
  const { searchedNumber } = filters;
  if (searchedNumber === undefined || end !== undefined) return undefined;
  return every([...filterConditions(request), Prisma.sql`i.number = ${searchedNumber}::bigint`]);
}

function every(conditions: Sql[]): Sql {
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

// The total of the whole list, independent of the page.
function totalOf(request: TrackedRequest): Sql {
  if (request.total === 'none') return Prisma.sql`NULL::int`;
  const whole = { ...request, after: undefined };
  if (request.filters.search === undefined) return totalOfListed(whole);
  const search = searchOf(whole);
  const found = request.total === 'exact' ? exactTotal(search) : cheapTotal(search, totalOfListed(whole));
  const numbered = isNumbered(whole);
  return numbered === undefined
    ? found
    : Prisma.sql`${found} + (SELECT count(*)::int FROM issues i WHERE ${numbered})`;
}

// A limited count starts with the newest issues, like most pages: the oldest matching issue may be far from the start
// of the index.
function totalOfListed(request: TrackedRequest): Sql {
  const bound =
    request.total === 'exact'
      ? Prisma.empty
      : Prisma.sql`ORDER BY i.created_at DESC LIMIT ${literal(totalMax + 1)}`;
  return Prisma.sql`
    (SELECT count(*)::int FROM (SELECT FROM issues i WHERE ${conditionsOf(request)} ${bound}) found)`;
}

// A literal instead of a parameter: a statement without parameters keeps its plan (see createListDatabase).
export function literal(value: number): Sql {
  return Prisma.raw(String(Math.trunc(value)));
}

/** The indexed expression of each sort field, and the expression of its value in a cursor. */
const sorting: Readonly<Record<SortField, { order: Sql; bound: (value: SortValue | undefined) => Sql }>> = {
  created_at: {
    order: Prisma.sql`i.created_at`,
    bound: (value) => Prisma.sql`${value}::timestamptz`,
  },
  updated_at: {
    order: Prisma.sql`i.updated_at`,
    bound: (value) => Prisma.sql`${value}::timestamptz`,
  },
  priority: { order: Prisma.sql`i.priority`, bound: (value) => Prisma.sql`${value}::issue_priority` },
  status: { order: Prisma.sql`i.status`, bound: (value) => Prisma.sql`${value}::issue_status` },
  number: { order: Prisma.sql`i.number`, bound: (value) => Prisma.sql`${value}::int` },
  title: {
    order: Prisma.sql`lower(i.title) COLLATE "C"`,
    bound: (value) => Prisma.sql`lower(${value}::text)`,
  },
  id: { order: Prisma.sql`i.id`, bound: (value) => Prisma.sql`${value}::uuid` },
};

function orderBy(sort: readonly SortKey[]): Sql {
  return Prisma.join(
    sort.map(({ field, descending }) =>
      descending ? Prisma.sql`${sorting[field].order} DESC` : sorting[field].order,
    ),
  );
}

// The condition for the issues after the issue with these sort values.
function after(sort: readonly SortKey[], values: readonly SortValue[]): Sql {
  const bounds = sort.map(({ field, descending }, place) => ({
    column: sorting[field].order,
    value: sorting[field].bound(values[place]),
    beyond: Prisma.raw(descending ? '<' : '>'),
    descending,
  }));
  const [first] = bounds;
  // If all keys have one direction, a single row comparison suffices, which an index can evaluate.
  if (first !== undefined && bounds.every((bound) => bound.descending === first.descending)) {
    return Prisma.sql`(${Prisma.join(bounds.map(({ column }) => column))}) ${first.beyond} (${Prisma.join(
      bounds.map(({ value }) => value),
    )})`;
  }
  const steps = bounds.map((bound, place) => {
    const equal = bounds.slice(0, place).map(({ column, value }) => Prisma.sql`${column} = ${value}`);
    return Prisma.join([...equal, Prisma.sql`${bound.column} ${bound.beyond} ${bound.value}`], ' AND ');
  });
  return Prisma.sql`((${Prisma.join(steps, ') OR (')}))`;
}

// The conditions of all filters except the search.
function filterConditions({ filters, labelIds, tracker }: TrackedRequest): Sql[] {
  const { references, statuses, priorities, reporterId, links = [] } = filters;
  return [
    ...given(references, isOneOf),
    ...anyOf('status', statuses),
    ...anyOf('priority', priorities),
    ...given(filters.assigneeIds, isAssignedToAny),
    ...given(reporterId, (id) => Prisma.sql`i.reporter_id = ${id}::uuid`),
    ...links.map(
      ({ type, ref }) => Prisma.sql`EXISTS (SELECT FROM issue_links l
        WHERE l.issue_id = i.id AND l.type = ${type}::link_type AND l.ref = ${ref})`,
    ),
    ...given(
      labelIds,
      // The second condition matches the partial index.
      (ids) => Prisma.sql`i.label_ids @> ${[...ids]}::uuid[] AND i.label_ids <> '{}'`,
    ),
    ...given(filters.sync, (sync) => Prisma.sql`i.id IN (${selectSynced(sync, tracker)})`),
    ...given(filters.createdFrom, (date) => Prisma.sql`i.created_at >= ${date}::timestamptz`),
    ...given(filters.createdBefore, (date) => Prisma.sql`i.created_at < ${date}::timestamptz`),
    ...given(filters.updatedFrom, (date) => Prisma.sql`i.updated_at >= ${date}::timestamptz`),
    ...given(filters.updatedBefore, (date) => Prisma.sql`i.updated_at < ${date}::timestamptz`),
  ];
}

// A single person becomes an equality, whose index returns issues in the order of creation.
function isAssignedToAny(ids: NonNullable<IssueFilters['assigneeIds']>): Sql {
  const people = ids.filter((id) => id !== null);
  const [first, ...others] = people;
  const conditions = [
    ...(others.length > 0 ? [Prisma.sql`i.assignee_id = ANY(${people}::uuid[])`] : []),
    ...(others.length === 0 && first !== undefined ? [Prisma.sql`i.assignee_id = ${first}::uuid`] : []),
    ...(ids.includes(null) ? [Prisma.sql`i.assignee_id IS NULL`] : []),
  ];
  return Prisma.sql`(${Prisma.join(conditions, ' OR ')})`;
}

function isOneOf({ ids, numbers }: NonNullable<IssueFilters['references']>): Sql {
  const byId = Prisma.sql`i.id = ANY(${[...ids]}::uuid[])`;
  const byNumber = Prisma.sql`i.number = ANY(${[...numbers]}::bigint[])`;
  if (numbers.length === 0) return byId;
  return ids.length === 0 ? byNumber : Prisma.sql`(${byId} OR ${byNumber})`;
}

// A single value becomes an equality, whose index returns issues in the order of creation.
function anyOf(column: 'status' | 'priority', values: readonly string[] | undefined): Sql[] {
  if (values === undefined) return [];
  const name = Prisma.raw(`i.${column}`);
  const type = Prisma.raw(`issue_${column}`);
  const [only, ...others] = values;
  return only !== undefined && others.length === 0
    ? [Prisma.sql`${name} = ${only}::${type}`]
    : [Prisma.sql`${name} = ANY(${[...values]}::${type}[])`];
}

function given<Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql[] {
  return value === undefined ? [] : [condition(value)];
}

/** Limits of the first search step in issues, in bytes of their indexed words, and in comments: a few milliseconds. */
const nearbyMax = 2_000;
const nearbyBytesMax = 8 * 1024 * 1024;
const nearbyCommentsMax = 4_000;

interface SearchedList {
  words: string;
  /** The conditions of a row `i` except the search. */
  conditions: Sql;
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
 * - `walk`: if more issues match, a scan of the list soon finds enough.
 * If more comments match, those of issues beyond the next 2,000 are not considered: they may all be comments of one issue, which a
 * scan would find after all others.
 */
function searchSteps(search: SearchedList): Sql {
  const { words, conditions, order, limit } = search;
  const own = Prisma.sql`(SELECT is_rare FROM chosen)`;
  const comments = Prisma.sql`(SELECT is_rare_in_comments FROM chosen)`;
  return Prisma.sql`
    nearby AS MATERIALIZED (${firstIssues(search, nearbyMax)}),
    near AS MATERIALIZED (
      SELECT ${columns} FROM nearby i WHERE ${isWithin(1)} AND ${hasWords(words)} ORDER BY ${order} LIMIT ${limit}
    ), chosen AS MATERIALIZED (
      SELECT is_near, CASE WHEN NOT is_near THEN ${isRare(words)} END AS is_rare,
             CASE WHEN NOT is_near THEN ${isRareInComments(words)} END AS is_rare_in_comments
        FROM (SELECT (SELECT count(*) FROM near) >= ${limit}
                  OR (SELECT count(*) < ${nearbyMax} AND coalesce(bool_and(${isWithin(1)}), true) FROM nearby i) AS is_near) measured
    ), rare AS MATERIALIZED (
      SELECT ${columns} FROM ${indexedIssues(words, { own, comments })} WHERE (${own} OR ${comments}) AND ${conditions}
    )`;
}

/**
 * Selects the first issues of a list with their indexed words, and as `bytes` the cumulative size of the words, as `comments` that of
 * their comments. PostgreSQL knows the size without reading the words.
 */
export function firstIssues({ conditions, order }: SearchedList, count: number): Sql {
  const cumulative = Prisma.sql`OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  return Prisma.sql`
    SELECT ${columns}, i.comments_count, i.search,
           sum(pg_column_size(i.search)) ${cumulative} AS bytes, sum(i.comments_count) ${cumulative} AS comments
      FROM issues i WHERE ${conditions} ORDER BY ${order} LIMIT ${count}`;
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
function foundIssues({ words, conditions, order, limit }: SearchedList): Sql {
  return Prisma.sql`
    SELECT false AS is_searched, ${columns} FROM (
      SELECT ${columns} FROM near i
      UNION
      SELECT ${columns} FROM rare i
      UNION
      (SELECT ${columns} FROM issues i
        WHERE NOT (SELECT is_rare FROM chosen) AND ${hasOwnWords(words)} AND ${conditions}
        ORDER BY ${order} LIMIT ${limit})
    ) i`;
}

/** The number of matches if the search has found all of them or the list is short enough to scan; otherwise NULL. */
function cheapTotal(search: SearchedList, listed: Sql): Sql {
  return Prisma.sql`
    (SELECT CASE
       WHEN is_rare AND is_rare_in_comments THEN (SELECT count(*)::int FROM rare i)
       WHEN is_near AND ${listed} <= ${totalMax} THEN (
         SELECT CASE WHEN coalesce(bool_and(is_read), true) THEN count(*) FILTER (WHERE is_found)::int END
           FROM (${lookThrough(search)}) looked_through)
       END FROM chosen)`;
}

/** The exact number of matches, without a limit of the cost. */
function exactTotal({ words, conditions }: SearchedList): Sql {
  return Prisma.sql`(SELECT count(*)::int FROM ${indexedIssues(words)} WHERE ${conditions})`;
}
