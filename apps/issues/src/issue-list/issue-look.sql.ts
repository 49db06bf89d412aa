import { Prisma } from '../generated/prisma/client.ts';
import { isWhole } from '../issue-core/project-access.ts';
import { oneOf } from '../issue-store/issue.sql.ts';
import {
  afterPlace,
  every,
  filterColumns,
  filterConditions,
  literal,
  orderBy,
  type Sql,
  selectByOneFilter,
  type TrackedRequest,
} from './issue-conditions.sql.ts';
import { completeOrder, type SortField, type SortKey, totalMax } from './issue-list.ts';
import { countWalks, isCovered, isIndexed, walk, wholeWalk } from './issue-walk.sql.ts';

/**
 * Maximum number of issues that a list looks through: in the index alone, or where the issues themselves are read, in the order of
 * creation, in which they are stored, or in another one.
 */
const lookMax = { index: 50_000, issues: 15_000, scattered: 1_200 };
/** Maximum number of issues that a count looks through. */
const countLookMax = { ...lookMax, index: 100_000 };
/** The first issues of a list, which usually fill the page. */
const nearMax = { index: 1_000, issues: 200, scattered: 200 };
/** Maximum number of issues that one filter finds, and that are then read. */
const rareMax = 250;

/** The columns of the index of the order by creation. */
const covered = [
  'id',
  'created_at',
  'status',
  'priority',
  'assignee_id',
  'reporter_id',
  'updated_at',
  'number',
];

/** The columns of the row `i` that filters and orders need, and that the indexes of the orders by creation and change do not have. */
function otherColumns(request: TrackedRequest): string[] {
  const sorted = request.sort.map(({ field }) => field);
  const scoped = isWhole(request.scope) ? [] : ['project_id'];
  const needed = new Set([...sorted, ...scoped, ...filterColumns(request.filters)]);
  return [...needed].filter((name) => !covered.includes(name));
}

/** The columns of the row `i` that a look reads. */
export function lookedColumns(request: TrackedRequest): Sql {
  const watches = request.filters.watcher === undefined ? [] : ['reporter_watches'];
  const columns = [...covered, ...otherColumns(request), ...watches];
  return Prisma.raw(columns.map((name) => `i.${name}`).join(', '));
}

/** Whether each issue costs a look into a table. */
function kindOf(request: TrackedRequest): keyof typeof lookMax {
  if (otherColumns(request).length === 0) return 'index';
  return isCovered(request.sort) && request.sort[0]?.field === 'updated_at' ? 'scattered' : 'issues';
}

/** The first steps of a list or a count, as CTEs, and what comes of them. */
export interface Look {
  steps: Sql;
  /** Selects the rows `i` of the page with `lookedColumns`. */
  page: Sql;
  total: Sql;
  /** Whether `total` is that of the whole list. */
  isWhole: Sql;
  /** The cursor after the last issue that was looked at, if the page ends before it is full, otherwise NULL. */
  until: Sql | undefined;
}

/**
 * Finds the issues of a list with several filters, or in an order that no index has. No plan suits all of them: following the order is
 * fast if many issues match, and reads all issues if few do; PostgreSQL has no statistics about two filters together. Like a search,
 * the statement measures first:
 * - `near`: the matches among the first issues of the list. If they are enough, or the list is not longer, nothing else runs;
 * - `rare`: if one filter finds few issues, the matches among these;
 * - `looked`: the matches among the newest issues, by an index that has the columns of most filters. In an order by creation or
 *   change, these are the next ones of the list: if they do not fill the page, it ends early, and the next one goes on.
 */
export function look(request: TrackedRequest): Look {
  const { sort, size, offset, total } = request;
  const limit = literal(size + 1 + offset);
  const order = orderBy(sort);
  const columns = lookedColumns(request);
  const beyond = every(afterPlace(request));
  const { near, isNear } = nearby(request);
  const window = newest(request);
  return {
    steps: Prisma.sql`
      near AS MATERIALIZED (${near}),
      measured AS MATERIALIZED (SELECT ${isNear} AS is_near),
      chosen AS MATERIALIZED (
        SELECT is_near, CASE WHEN ${total === 'none' ? Prisma.sql`NOT is_near` : Prisma.sql`true`} THEN ${rareIds(request)} END AS ids
          FROM measured
      ), rare AS MATERIALIZED (
        SELECT ${columns} FROM (SELECT unnest(ids) AS id FROM chosen) one CROSS JOIN ${oneOf('issues', 'id = one.id')} i
         WHERE ${every(filterConditions(request))}
      ), looked AS MATERIALIZED (
        SELECT ${columns} FROM (${window.select}) i
         WHERE (SELECT NOT is_near AND ids IS NULL FROM chosen)
           AND ${every([...filterConditions(request, { all: window.max }), ...afterPlace(request)])}
         ORDER BY ${order} LIMIT ${limit}
      ), ended AS MATERIALIZED (
        SELECT ids IS NOT NULL AS is_rare,
               NOT is_near AND ids IS NULL AND (SELECT count(*) FROM looked) < ${limit} AS is_looked_through
          FROM chosen
      )`,
    page: Prisma.sql`
      SELECT * FROM (SELECT * FROM near UNION SELECT * FROM rare i WHERE ${beyond} UNION SELECT * FROM looked) i
       ORDER BY ${order} LIMIT ${literal(size + 1)} ${offset === 0 ? Prisma.empty : Prisma.sql`OFFSET ${offset}`}`,
    ...totalOf(request),
    until: isCovered(sort)
      ? Prisma.sql`CASE WHEN (SELECT is_looked_through FROM ended) THEN ${window.end} END`
      : undefined,
  };
}

function nearby(request: TrackedRequest): { near: Sql; isNear: Sql } {
  const { sort, size, offset, filters } = request;
  const order = orderBy(sort);
  const columns = lookedColumns(request);
  if (!isIndexed(sort))
    return { near: Prisma.sql`SELECT ${columns} FROM issues i WHERE false`, isNear: Prisma.sql`false` };
  const isCheap =
    isCovered(sort) && kindOf(request) === 'index' && !filters.link && !filters.external && !filters.sync;
  const max = literal(nearMax[isCheap ? 'index' : 'issues']);
  const first = (selected: Sql) =>
    Prisma.sql`(SELECT ${selected} ${walk(wholeWalk(request))} LIMIT ${max}) i`;
  const limit = literal(size + 1 + offset);
  return {
    near: Prisma.sql`
      SELECT ${columns} FROM ${first(columns)} WHERE ${every(filterConditions(request))}
       ORDER BY ${order} LIMIT ${limit}`,
    isNear: Prisma.sql`
      (SELECT count(*) FROM near) >= ${limit} OR (SELECT count(*) FROM ${first(Prisma.empty)}) < ${max}`,
  };
}

/** The ids of the issues of one filter, if that finds few, otherwise NULL. */
export function rareIds(request: TrackedRequest): Sql {
  const each = selectByOneFilter(request).map(
    (select) => Prisma.sql`
      (SELECT CASE WHEN count(*) <= ${literal(rareMax)} THEN coalesce(array_agg(issue_id), '{}') END
         FROM (SELECT issue_id FROM (${select}) found LIMIT ${literal(rareMax + 1)}) few)`,
  );
  return each.length === 0 ? Prisma.sql`NULL::uuid[]` : Prisma.sql`coalesce(${Prisma.join(each)})`;
}

/** The newest issues; in an order by creation or change, the next ones of the list. */
interface Window {
  select: Sql;
  /** The cursor after its last issue, if it may not be the last one of all. */
  end: Sql;
  max: number;
}

export function newest(request: TrackedRequest, max = lookMax[kindOf(request)]): Window {
  const path = walk(wholeWalk(isCovered(request.sort) ? request : byCreation(request)));
  return {
    max,
    select: Prisma.sql`SELECT ${lookedColumns(request)} ${path} LIMIT ${literal(max)}`,
    end: Prisma.sql`(
      SELECT ${cursorOf(request.sort)}
        FROM (SELECT ${lookedColumns(request)} ${path} LIMIT 1 OFFSET ${literal(max - 1)}) i)`,
  };
}

/** The cursor after the row `i` as JSON. */
export function cursorOf(sort: readonly SortKey[]): Sql {
  return Prisma.sql`to_json(ARRAY[${Prisma.join(sort.map(({ field }) => cursorValue(field)))}])::text`;
}

/** The value of a sort field as the cursor has it. */
function cursorValue(field: SortField): Sql {
  const isTime = field === 'created_at' || field === 'updated_at';
  return Prisma.raw(
    isTime ? `to_char(i.${field} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `i.${field}::text`,
  );
}

/** The list in the nearest order by creation, from the cursor on if that is the first key of both. */
export function byCreation(request: TrackedRequest): TrackedRequest {
  const { sort, filters, after: [time] = [] } = request;
  const [first] = sort;
  if (first?.field !== 'created_at') return { ...request, sort: completeOrder(), after: undefined };
  // The other keys only order issues of the same millisecond.
  const place = time === undefined ? undefined : new Date(time);
  const range =
    place === undefined
      ? {}
      : first.descending
        ? { created_before: new Date(place.getTime() + 1) }
        : { created_after: place };
  return {
    ...request,
    sort: completeOrder([{ field: 'created_at', descending: first.descending }]),
    filters: { ...filters, ...range },
    after: undefined,
  };
}

/** The number of matches among the newest issues, and whether there are no others. */
function totalOf(request: TrackedRequest): Pick<Look, 'total' | 'isWhole'> {
  const whole = { ...request, after: undefined };
  const isSeen = request.after === undefined ? Prisma.sql`is_looked_through` : Prisma.sql`false`;
  return {
    total: Prisma.sql`(
      SELECT CASE WHEN is_rare THEN (SELECT count(*) FROM rare) WHEN ${isSeen} THEN (SELECT count(*) FROM looked)
             ELSE ${totalAmongNewest(request)} END::int
        FROM ended)`,
    isWhole: Prisma.sql`((SELECT is_rare FROM ended) OR ${isShort(whole, newest(whole).max)})`,
  };
}

/** Selects the number of matches among the newest issues. */
export function totalAmongNewest(request: TrackedRequest): Sql {
  const whole = { ...request, after: undefined };
  const { select, max } = newest(whole);
  const bound = request.total === 'exact' ? Prisma.empty : Prisma.sql`LIMIT ${literal(totalMax + 1)}`;
  return Prisma.sql`(SELECT count(*) FROM (
               SELECT FROM (${select}) i WHERE ${every(filterConditions(whole, { all: max }))} ${bound}) found)`;
}

/** Whether a list has no more than `max` issues before its filters. */
export function isShort(request: TrackedRequest, max: number): Sql {
  const all = wholeWalk({ ...request, sort: completeOrder(), after: undefined });
  return Prisma.sql`${countWalks([all], max + 1)} <= ${literal(max)}`;
}

/** Looks for the issues to count: CTEs, of which `grouped` has for each value how many issues were `found`. */
export function lookToCount(request: TrackedRequest, value: Sql): { steps: Sql; isWhole: Sql } {
  const { select, max } = newest(request, countLookMax[kindOf(request)]);
  return {
    steps: Prisma.sql`
      chosen AS MATERIALIZED (SELECT ${rareIds(request)} AS ids),
      grouped AS MATERIALIZED (
        SELECT ${value} AS value, count(*) AS found, 0 AS looked
          FROM (SELECT unnest(ids) AS id FROM chosen) one CROSS JOIN ${oneOf('issues', 'id = one.id')} i
         WHERE ${every(filterConditions(request))} GROUP BY 1
        UNION ALL
        SELECT ${value}, count(*) FILTER (WHERE ${every(filterConditions(request, { all: max }))}), count(*) FROM (${select}) i
         WHERE (SELECT ids IS NULL FROM chosen) GROUP BY 1
      )`,
    isWhole: Prisma.sql`(SELECT coalesce(sum(looked), 0) < ${literal(max)} FROM grouped)`,
  };
}
