import { phraseWordsMax } from '@tessera/contracts';
import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { people, revisionColumns, selectSynced, trackerLink } from '../issues/issue.sql.ts';
import type { TrackerIdentity } from '../issues/issue.ts';
import {
  type IssueFilters,
  type IssueListRequest,
  type SortField,
  type SortKey,
  type SortValue,
  totalMax,
} from './issue-list.ts';

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
  const found = request.total === 'exact' ? exactTotal(search) : cheapTotal(search);
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
  const { references, statuses, priorities, assigneeId, reporterId, links = [] } = filters;
  return [
    ...given(references, isOneOf),
    ...anyOf('status', statuses),
    ...anyOf('priority', priorities),
    ...(assigneeId === null ? [Prisma.sql`i.assignee_id IS NULL`] : []),
    ...given(assigneeId ?? undefined, (id) => Prisma.sql`i.assignee_id = ${id}::uuid`),
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

function isAssignedToAny(ids: NonNullable<IssueFilters['assigneeIds']>): Sql {
  const isAny = Prisma.sql`i.assignee_id = ANY(${ids.filter((id) => id !== null)}::uuid[])`;
  return ids.includes(null) ? Prisma.sql`(${isAny} OR i.assignee_id IS NULL)` : isAny;
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

/** Limits of the first search step in issues and in bytes of indexed words: about a millisecond. */
const nearbyMax = 2_000;
const nearbyBytesMax = 8 * 1024 * 1024;
/** A total is not counted if the words of its issues have more bytes. */
export const totalBytesMax = 4 * nearbyBytesMax;
/** Maximum number of matching issues for rare words. Fetching and sorting them takes a few milliseconds. */
export const rareMax = 1_000;

interface SearchedList {
  words: string;
  /** The conditions of a row `i` except the search. */
  conditions: Sql;
  order: Sql;
  /** Maximum number of rows. */
  limit: number;
}

/** The issues with their entries in the search index. */
export const indexedIssues = Prisma.raw('issue_search s JOIN issues i ON i.id = s.issue_id');

export function hasWords(words: string): Sql {
  return Prisma.sql`i.search @@ ${query(words)}`;
}

// Words end at each punctuation mark, as in `separated_words` of the database. Quotes and a minus sign before a word have a
// meaning; PostgreSQL refuses many other minus signs.
const separators = /[!#$%&'()*+,./:;<=>?@[\\\]^_`{|}~]|(?<=\S)-|-(?![\p{L}\p{N}"])/gu;

// Unlike a space, `=` joins words to a phrase, so `-a_b` excludes `a b`.
export function query(words: string): Sql {
  const joined = words.replace(separators, '=');
  const phrases = joined.split('=').length > phraseWordsMax ? joined.replaceAll('=', ' ') : joined;
  const parsed = Prisma.sql`websearch_to_tsquery('issue_text', ${phrases})`;
  if (!isBeginning.test(words) || isNumber.test(words)) return parsed;
  // Only a word that ends the query and is not excluded. `'a' & 'b':*` matches words that begin with b. The planner does not
  // see the value of a subquery: it would expect a beginning in so many issues that it reads all of them.
  return Prisma.sql`(
    SELECT CASE WHEN ${parsed}::text ~ '(^|[^!])''[^'']+''$' THEN (${parsed}::text || ':*')::tsquery ELSE ${parsed} END)`;
}

/** The last word is a beginning if it may still be typed. PostgreSQL reads the issues of all words with this beginning. */
const isBeginning = /[\p{L}\p{N}\p{M}]{3}$/u;
/** A key or a number, whose issue is first. */
const isNumber = /^(?:\w+-)?\d+$/;

/**
 * The steps of a search as CTEs of its statement. No single strategy suits all words: scanning the list until enough
 * issues match is fast for a common word and takes seconds for a word without matches; fetching all matches is the
 * reverse. PostgreSQL's planner cannot choose, because its statistics contain only the thousand most common words. The
 * statement therefore measures first, and runs one of three strategies:
 * - `near`: the next 2,000 issues of the list contain enough matches, or the list is not longer;
 * - `rare`: the search index finds at most 1,000 matches: fetches all of them;
 * - `walk`: otherwise the words are common, and a scan of the list soon finds enough matches.
 */
function searchSteps(search: SearchedList): Sql {
  const { words, conditions, order, limit } = search;
  return Prisma.sql`
    nearby AS MATERIALIZED (${firstIssues(search, nearbyMax)}),
    near AS MATERIALIZED (
      SELECT ${columns} FROM nearby i WHERE bytes <= ${nearbyBytesMax} AND ${hasWords(words)} ORDER BY ${order} LIMIT ${limit}
    ), chosen AS MATERIALIZED (
      SELECT CASE
        WHEN (SELECT count(*) FROM near) >= ${limit} THEN 'near'
        WHEN (SELECT count(*) < ${nearbyMax} AND coalesce(max(bytes), 0) <= ${nearbyBytesMax} FROM nearby) THEN 'near'
        WHEN count_issues_with(${query(words)}, ${rareMax + 1}::int) <= ${rareMax} THEN 'rare'
        ELSE 'walk' END AS way
    ), rare AS MATERIALIZED (
      SELECT ${columns} FROM ${indexedIssues}
       WHERE (SELECT way FROM chosen) = 'rare' AND s.words @@ ${query(words)} AND ${conditions}
    )`;
}

/**
 * Selects the first issues of a list with their indexed words, and as `bytes` the cumulative size of the words.
 * PostgreSQL knows the size without reading the words.
 */
export function firstIssues({ conditions, order }: SearchedList, count: number): Sql {
  return Prisma.sql`
    SELECT ${columns}, i.search,
           sum(pg_column_size(i.search)) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS bytes
      FROM issues i WHERE ${conditions} ORDER BY ${order} LIMIT ${count}`;
}

/** Selects the issues that the chosen strategy finds: at least `limit`, if so many match. */
function foundIssues({ words, conditions, order, limit }: SearchedList): Sql {
  return Prisma.sql`
    (SELECT false AS is_searched, ${columns} FROM near i WHERE (SELECT way FROM chosen) = 'near')
    UNION ALL
    (SELECT false, ${columns} FROM rare i)
    UNION ALL
    (SELECT false, ${columns} FROM issues i
      WHERE (SELECT way FROM chosen) = 'walk' AND ${hasWords(words)} AND ${conditions}
      ORDER BY ${order} LIMIT ${limit})`;
}

/** The number of matches if the strategy has found all of them or the list is short enough to scan; otherwise NULL. */
function cheapTotal(search: SearchedList): Sql {
  return Prisma.sql`
    CASE (SELECT way FROM chosen)
      WHEN 'rare' THEN (SELECT count(*)::int FROM rare i)
      WHEN 'near' THEN (
        SELECT CASE WHEN count(*) <= ${totalMax} AND max(bytes) <= ${totalBytesMax} THEN count(*) FILTER (WHERE found)::int END
          FROM (SELECT bytes, CASE WHEN bytes <= ${totalBytesMax} THEN ${hasWords(search.words)} END AS found
                  FROM (${firstIssues(search, totalMax + 1)}) i) looked_through)
    END`;
}

/** The exact number of matches, without a limit of the cost. */
function exactTotal({ words, conditions }: SearchedList): Sql {
  return Prisma.sql`
    (SELECT count(*)::int FROM ${indexedIssues} WHERE s.words @@ ${query(words)} AND ${conditions})`;
}
