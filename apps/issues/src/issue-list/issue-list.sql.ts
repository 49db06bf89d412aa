import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { oneOf, people, revisionColumns, trackerLink } from '../issue-store/issue.sql.ts';
import { isBlocked } from '../issue-store/relation.sql.ts';
import {
  afterPlace,
  every,
  filterConditions,
  isOneOf,
  literal,
  orderBy,
  type Sql,
  type TrackedRequest,
} from './issue-conditions.sql.ts';
import { exactTotalMax, type IssueListRequest, totalMax } from './issue-list.ts';
import { look } from './issue-look.sql.ts';
import {
  columns,
  searched,
  searchOf,
  searchSteps,
  seenSteps,
  totalOfSearch,
  wholeSearchOf,
} from './issue-search.sql.ts';
import { lookInScope } from './issue-sight.sql.ts';
import { countWalks, type Walk, walk, walkAll, walksOf } from './issue-walk.sql.ts';

/** The maximum total that is counted. */
export function totalMaxOf({ total }: Pick<IssueListRequest, 'total'>): number {
  return total === 'exact' ? exactTotalMax : totalMax;
}

/** How the issues of a page are found. */
interface Found {
  /** CTEs. */
  steps?: Sql | undefined;
  /** Selects the rows `i` of the page, at most one more than its size. */
  page: Sql;
  /** The total of the whole list, independent of the page, and whether it counts all unless it is above its maximum. */
  total: Sql;
  isWhole: Sql;
  /** The cursor of the next page as JSON, if the page may end before it is full, otherwise NULL. */
  until?: Sql | undefined;
}

/**
 * Selects the issues of a page in order with their revisions, and one more issue if another page exists. If a total is
 * requested, each row contains it, and an empty page is one row without an issue.
 * @param readerScope what the reader sees of other issues than those of the list
 */
export function pageStatement(
  asked: IssueListRequest,
  tracker: TrackerIdentity | undefined,
  readerScope: ReadScope,
): Sql {
  const isSearch = asked.filters.search !== undefined;
  const order = orderOf(asked);
  const { steps, page, total, isWhole, until } = find({ ...asked, tracker });
  const max = literal(totalMaxOf(asked));
  const facts = [
    ...(asked.total === 'none' ? [] : [Prisma.sql`total, total <= ${max} AND ${isWhole} AS "isWhole"`]),
    ...(until === undefined ? [] : [Prisma.sql`${until} AS "lookedUntil"`]),
  ];
  const counted =
    asked.total === 'none' ? Prisma.empty : Prisma.sql`FROM (SELECT ${total} AS total OFFSET 0) counted`;
  const from =
    facts.length === 0 ? Prisma.empty : Prisma.sql`(SELECT ${Prisma.join(facts)} ${counted}) facts LEFT JOIN`;
  return Prisma.sql`
    ${steps === undefined ? Prisma.empty : Prisma.sql`WITH ${steps}`}
    SELECT i.id, ${revisionColumns(tracker)}, reporter.names AS "reporterName", assignee.names AS "assigneeName"
           ${asked.fields?.includes('is_blocked') ? Prisma.sql`, ${isBlocked(readerScope)} AS "isBlocked"` : Prisma.empty}
           ${isSearch ? Prisma.sql`, i.is_searched AS "isSearched"` : Prisma.empty}
           ${facts.length === 0 ? Prisma.empty : Prisma.sql`, facts.*`}
      FROM ${from} (${page}) i ${facts.length === 0 ? Prisma.empty : Prisma.sql`ON true`}
      ${people} ${trackerLink(tracker)}
     ORDER BY ${order}`;
}

function orderOf({ filters, sort }: IssueListRequest): Sql {
  return filters.search === undefined ? orderBy(sort) : Prisma.sql`i.is_searched DESC, ${orderBy(sort)}`;
}

function find(request: TrackedRequest): Found {
  if (request.filters.search !== undefined) return search(request);
  if (request.filters.id !== undefined) return amongReferred(request, request.filters.id);
  const walks = walksOf(request);
  return walks === undefined ? afterLook(request) : alongIndexes(request, walks);
}

function cut(request: TrackedRequest): Sql {
  const { size, offset } = request;
  const skipped = offset === 0 ? Prisma.empty : Prisma.sql`OFFSET ${offset}`;
  return Prisma.sql`ORDER BY ${orderOf(request)} LIMIT ${literal(size + 1)} ${skipped}`;
}

function search(request: TrackedRequest): Found {
  const list = searchOf(request);
  const searches = request.total === 'none' ? [list] : [list, wholeSearchOf(request)];
  return {
    steps: Prisma.sql`${seenSteps(request, searches)} ${searchSteps(list, request.total)}`,
    page: Prisma.sql`SELECT * FROM (${searched(request)}) i ${cut(request)}`,
    ...totalOfSearch(request),
  };
}

function amongReferred(
  request: TrackedRequest,
  references: NonNullable<TrackedRequest['filters']['id']>,
): Found {
  const referred = Prisma.sql`(SELECT * FROM issues i WHERE ${isOneOf(references, request.scope)} OFFSET 0) i`;
  const conditions = every(filterConditions(request));
  return {
    page: Prisma.sql`
      SELECT ${columns} FROM ${referred} WHERE ${every([conditions, ...afterPlace(request)])} ${cut(request)}`,
    total: Prisma.sql`(SELECT count(*)::int FROM ${referred} WHERE ${conditions})`,
    isWhole: Prisma.sql`true`,
  };
}

function alongIndexes(request: TrackedRequest, walks: readonly Walk[]): Found {
  const { sort, size, offset } = request;
  const end = literal(size + 1 + offset);
  const [only, ...others] = walks;
  const isDirect = only !== undefined && others.length === 0 && offset === 0;
  // The index alone has the ids of the issues before the page.
  const keys = Prisma.raw(
    [...new Set(['id', ...sort.map(({ field }) => field)])].map((name) => `i.${name}`).join(', '),
  );
  return {
    page: isDirect
      ? Prisma.sql`SELECT ${columns} ${walk(only)} LIMIT ${end}`
      : Prisma.sql`
        SELECT ${columns} FROM (SELECT i.id FROM (${walkAll(walks, keys, end)}) i ${cut(request)}) found
         CROSS JOIN ${oneOf('issues', 'id = found.id')} i`,
    total: countWalks(walksOf({ ...request, after: undefined }) ?? [], totalMaxOf(request) + 1),
    isWhole: Prisma.sql`true`,
  };
}

function afterLook(request: TrackedRequest): Found {
  const { page, ...found } = isWhole(request.scope) ? look(request) : lookInScope(request);
  return {
    ...found,
    page: Prisma.sql`SELECT ${columns} FROM (${page}) found CROSS JOIN ${oneOf('issues', 'id = found.id')} i`,
  };
}
