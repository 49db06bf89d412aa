import { Prisma } from '../generated/prisma/client.ts';
import { systemScope } from '../issue-core/project-access.ts';
import { isSeen, oneOf } from '../issue-store/issue.sql.ts';
import {
  afterPlace,
  every,
  filterConditions,
  literal,
  orderBy,
  type Sql,
  type TrackedRequest,
} from './issue-conditions.sql.ts';
import { totalMax } from './issue-list.ts';
import {
  byCreation,
  cursorOf,
  isShort,
  type Look,
  lookedColumns,
  newest,
  rareIds,
  totalAmongNewest,
} from './issue-look.sql.ts';
import { eachSeen, endsOf, isPlain, seenMax, seenProjects, shareOf } from './issue-seen.sql.ts';
import { isByCreation, isCovered, isIndexed, walk, walkAll, walksOf, wholeWalk } from './issue-walk.sql.ts';

/** The first issues of a list. How many of them the reader sees decides where others are looked for. */
const nearMax = 2_000;

/**
 * Finds the issues of a list for a reader who does not see all. Where in the list the reader sees issues is not known, so the
 * statement measures first:
 * - `near`: those among the first issues of the list. If they are enough, or the list is not longer, nothing else runs;
 * - `rare`: if one filter finds few issues, the matches among these;
 * - `looked`: if the reader sees every second of the first issues, or there are few, the matches among the newest ones, as in `look`;
 * - `sought`: otherwise those among the newest issues of each project that the reader sees. A project may have more: then a page in
 *   the order of creation ends at the `cut`, where the first of these projects does.
 */
export function lookInScope(request: TrackedRequest): Look {
  const { sort, size, offset, scope, total } = request;
  const limit = literal(size + 1 + offset);
  const order = orderBy(sort);
  const columns = lookedColumns(request);
  const conditions = filterConditions(request);
  const beyond = afterPlace(request);
  const first = firstOf(request);
  const window = newest(request);
  const isNear = Prisma.sql`(SELECT count(*) FROM near) >= ${limit} OR (SELECT count(*) FROM (${first}) i) < ${literal(nearMax)}`;
  const share = Prisma.sql`(SELECT issues FROM share)`;
  const needed = total === 'none' ? limit : undefined;
  const seen = eachSeen(
    request,
    { selected: orderedColumns(request), conditions, share, needed },
    isPlain(request),
  );
  const isWanted = total === 'none' ? Prisma.sql`NOT is_near` : Prisma.sql`true`;
  const isFull = Prisma.sql`(SELECT count(*) FROM (SELECT id FROM near UNION SELECT id FROM sought) both_parts) >= ${limit}`;
  return {
    steps: Prisma.sql`
      ${seenProjects(request)},
      share AS MATERIALIZED (${shareOf(request)}),
      near AS MATERIALIZED (
        SELECT ${columns} FROM (${first}) i WHERE ${isIndexed(sort) ? every(conditions) : Prisma.sql`false`}
         ORDER BY ${order} LIMIT ${limit}
      ), short AS MATERIALIZED (SELECT ${isShort(request, window.max)} AS is_short),
      measured AS MATERIALIZED (SELECT ${isIndexed(sort) ? isNear : Prisma.sql`false`} AS is_near),
      chosen AS MATERIALIZED (
        SELECT is_near, CASE WHEN ${isWanted} THEN ${rareIds(request)} END AS ids,
               CASE WHEN NOT ${isWanted} THEN false WHEN (SELECT is_short FROM short) THEN true
                    ELSE (SELECT count(*) FILTER (WHERE ${isSeen(scope)}) * 2 >= count(*) FROM (${first}) i) END AS is_dense
          FROM measured
      ), rare AS MATERIALIZED (
        SELECT ${columns} FROM (SELECT unnest(ids) AS id FROM chosen) one CROSS JOIN ${oneOf('issues', 'id = one.id')} i
         WHERE ${every(conditions)}
      ), looked AS MATERIALIZED (
        SELECT ${columns} FROM (${window.select}) i
         WHERE (SELECT NOT is_near AND is_dense AND ids IS NULL FROM chosen)
           AND ${every([...filterConditions(request, { all: window.max }), ...beyond])}
         ORDER BY ${order} LIMIT ${limit}
      ), seen AS MATERIALIZED (${seen}),
      ending AS MATERIALIZED (${endsOf(request, isPlain(request) && offset === 0 ? undefined : share)}),
      cut AS MATERIALIZED (${cutOf(request, first)}),
      sought AS MATERIALIZED (
        SELECT ${columns} FROM (
          SELECT i.id FROM seen i
           WHERE (SELECT NOT is_near AND NOT is_dense AND ids IS NULL FROM chosen) AND ${every([...beyond, ...beforeCut(request)])}
           ORDER BY ${order} LIMIT ${limit}) one CROSS JOIN ${oneOf('issues', 'id = one.id')} i
      ), ended AS MATERIALIZED (
        SELECT ids IS NOT NULL AS is_rare, is_dense,
               NOT is_near AND is_dense AND ids IS NULL AND (SELECT count(*) FROM looked) < ${limit} AS is_looked_through,
               NOT is_near AND NOT is_dense AND ids IS NULL AND NOT ${isFull} AS is_sought_through
          FROM chosen
      )`,
    page: Prisma.sql`
      SELECT * FROM (
        SELECT * FROM near UNION SELECT * FROM rare i WHERE ${every(beyond)} UNION SELECT * FROM looked UNION SELECT * FROM sought) i
       ORDER BY ${order} LIMIT ${literal(size + 1)} ${offset === 0 ? Prisma.empty : Prisma.sql`OFFSET ${offset}`}`,
    ...totalOf(request),
    until: isCovered(sort)
      ? Prisma.sql`
        CASE WHEN (SELECT is_looked_through FROM ended) THEN ${window.end}
             WHEN (SELECT is_sought_through FROM ended) THEN (SELECT ${cursorOf(sort)} FROM cut i) END`
      : undefined,
  };
}

/** The first rows `i` of a list without regard to what its reader sees. */
function firstOf(request: TrackedRequest): Sql {
  const { sort } = request;
  const columns = lookedColumns(request);
  const listed = isIndexed(sort) ? request : byCreation(request);
  const [only, ...others] = walksOf({ ...listed, scope: systemScope }) ?? [wholeWalk(listed)];
  if (only === undefined) return Prisma.sql`SELECT ${columns} FROM issues i WHERE false`;
  return others.length === 0
    ? Prisma.sql`SELECT ${columns} ${walk(only)} LIMIT ${literal(nearMax)}`
    : Prisma.sql`
      SELECT * FROM (${walkAll([only, ...others], columns, literal(nearMax))}) i ORDER BY ${orderBy(sort)} LIMIT ${literal(nearMax)}`;
}

/** The columns of the row `i` that the order needs, and its id. */
function orderedColumns({ sort }: TrackedRequest): Sql {
  return Prisma.raw(
    [...new Set([...sort.map(({ field }) => field), 'id'])].map((name) => `i.${name}`).join(', '),
  );
}

/**
 * Selects the place up to which the list is read, if it may go on: where the first project ends, but not before the issues that are
 * near. In the order by change it is the end of these.
 */
function cutOf(request: TrackedRequest, first: Sql): Sql {
  const { sort } = request;
  const fields = Prisma.raw(sort.map(({ field }) => `i.${field}`).join(', '));
  const lastNear = Prisma.sql`(SELECT ${fields} FROM (${first}) i LIMIT 1 OFFSET ${literal(nearMax - 1)})`;
  if (!isByCreation(sort)) return Prisma.sql`SELECT * FROM ${lastNear} i WHERE EXISTS (SELECT FROM ending)`;
  const last = orderBy(sort.map(({ field, descending }) => ({ field, descending: !descending })));
  return Prisma.sql`
    SELECT * FROM (
      (SELECT ${fields} FROM ending i ORDER BY ${orderBy(sort)} LIMIT 1) UNION ALL SELECT * FROM ${lastNear} i WHERE EXISTS (SELECT FROM ending)) i
     ORDER BY ${last} LIMIT 1`;
}

function beforeCut({ sort }: TrackedRequest): Sql[] {
  if (!isCovered(sort)) return [];
  const isWhole = Prisma.sql`NOT EXISTS (SELECT FROM cut)`;
  if (!isByCreation(sort)) return [isWhole];
  const within = Prisma.raw(sort[0]?.descending ? '>=' : '<=');
  return [Prisma.sql`(${isWhole} OR (i.created_at, i.id) ${within} (SELECT created_at, id FROM cut))`];
}

/** The number of matches that the reader sees, and whether there are no others. */
function totalOf(request: TrackedRequest): Pick<Look, 'total' | 'isWhole'> {
  const isByIndex = isPlain(request);
  const isLooked = isByIndex
    ? Prisma.sql`(SELECT is_short FROM short)`
    : Prisma.sql`(SELECT is_dense FROM ended)`;
  const { seen, ends } =
    isByIndex || request.after !== undefined
      ? seenFromStart(request)
      : { seen: Prisma.sql`SELECT FROM seen`, ends: Prisma.sql`SELECT FROM ending` };
  return {
    total: Prisma.sql`(
      SELECT CASE WHEN is_rare THEN (SELECT count(*) FROM rare) WHEN ${isLooked} THEN ${totalAmongNewest(request)}
             ELSE (SELECT count(*) FROM (${seen}) found) END::int
        FROM ended)`,
    isWhole: Prisma.sql`(
      (SELECT is_rare FROM ended) OR (SELECT is_short FROM short) OR (NOT ${isLooked} AND NOT EXISTS (${ends})))`,
  };
}

function seenFromStart(request: TrackedRequest): { seen: Sql; ends: Sql } {
  const whole = { ...request, after: undefined, offset: 0 };
  const [isByIndex, conditions] = [isPlain(request), filterConditions(whole)];
  const bound = literal(request.total === 'exact' ? seenMax.index + 1 : totalMax + 1);
  const share = isByIndex ? bound : Prisma.sql`(${shareOf(whole)})`;
  return {
    seen: Prisma.sql`${eachSeen(whole, { selected: Prisma.empty, conditions, share }, isByIndex)} LIMIT ${bound}`,
    ends: endsOf(whole, isByIndex ? undefined : share),
  };
}

/** Looks for the issues to count, as `lookToCount` does for a reader who sees all. */
export function countInScope(request: TrackedRequest, value: Sql): { steps: Sql; isWhole: Sql } {
  const { select, max } = newest(request);
  const conditions = filterConditions(request);
  const selected = Prisma.sql`${value} AS value`;
  const share = Prisma.sql`(SELECT issues FROM share)`;
  const ends = endsOf(request, share);
  return {
    steps: Prisma.sql`
      ${seenProjects(request)},
      share AS MATERIALIZED (${shareOf(request, false)}),
      chosen AS MATERIALIZED (SELECT ${rareIds(request)} AS ids, ${isShort(request, max)} AS is_short),
      grouped AS MATERIALIZED (
        SELECT value, count(*) AS found FROM (
          SELECT ${selected} FROM (SELECT unnest(ids) AS id FROM chosen) one CROSS JOIN ${oneOf('issues', 'id = one.id')} i
           WHERE ${every(conditions)}
          UNION ALL
          SELECT ${selected} FROM (${select}) i
           WHERE (SELECT ids IS NULL AND is_short FROM chosen) AND ${every(filterConditions(request, { all: max }))}
          UNION ALL
          SELECT value FROM (${eachSeen(request, { selected, conditions, share }, false)}) sought
           WHERE (SELECT ids IS NULL AND NOT is_short FROM chosen)
        ) matching GROUP BY value
      )`,
    isWhole: Prisma.sql`(SELECT ids IS NOT NULL OR is_short OR NOT EXISTS (${ends}) FROM chosen)`,
  };
}
