import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { SortValue } from '../paging/cursor.ts';
import { type IssueDocument, issueColumns, issuePeople } from './issue-document.repository.ts';
import { type IssueListPage, type IssueListRequest, searchTotalMax, totalMax } from './issue-list.ts';
import { after, filterConditions, matchesSearch, orderBy, sortValues } from './issue-list-sql.repository.ts';

/** Words that at most so many issues have are rare: fetching and sorting all of them takes a few milliseconds. */
const rareMax = 1_000;

interface PageRow {
  items: string;
  ended: SortValue[] | null;
  total: number | null;
}

/**
 * Lists of issues, one statement a page. A search first probes how common its words are, within the same statement, and
 * only one of two ways then runs: a rare word's issues are all fetched by the search index and sorted; for a common one
 * the order's index is walked until enough have it. Left to its statistics, PostgreSQL takes any word that it has no
 * figures for to be in half a percent of all issues, and walks a million of them for a word that none has.
 */
export class IssueListRepository {
  readonly #database: Database;
  readonly #document: IssueDocument;

  constructor(database: Database, document: IssueDocument) {
    this.#database = database;
    this.#document = document;
  }

  async findPage(request: IssueListRequest): Promise<IssueListPage> {
    const [row] = await this.#database.$queryRaw<PageRow[]>(this.statement(request));
    if (row === undefined) throw new Error('an aggregate without GROUP BY has one row');
    const isAboveBound = request.total === 'capped' && (row.total ?? 0) > totalBound(request);
    return {
      items: row.items,
      end: row.ended ?? undefined,
      total: isAboveBound ? undefined : (row.total ?? undefined),
    };
  }

  /** The statement of a page; public so that a test can look at its plan. */
  statement(request: IssueListRequest): Prisma.Sql {
    const { sort, size } = request;
    return Prisma.sql`
      WITH ${probe(request)} page AS MATERIALIZED (${candidates(request)})
      SELECT '[' || coalesce(string_agg(${this.#document.summary()}, ',' ORDER BY i.place), '') || ']' AS items,
        (SELECT CASE WHEN i.is_searched THEN '[]'::json ELSE ${sortValues(sort)} END FROM page i
          WHERE i.place = ${size} AND EXISTS (SELECT FROM page WHERE place > ${size})) AS ended,
        ${total(request)} AS total
        FROM page i ${issuePeople}
       WHERE i.place <= ${size}`;
  }
}

// Whether at most `rareMax` issues have the words, and if so, which.
function probe({ filters }: IssueListRequest): Prisma.Sql {
  if (filters.search === undefined) return Prisma.empty;
  const text = matchesSearch(filters.search);
  return Prisma.sql`
    probe AS MATERIALIZED (
      SELECT count(*) <= ${rareMax} AS is_rare FROM (SELECT FROM issues i WHERE ${text} LIMIT ${rareMax + 1}) sample
    ), rare AS MATERIALIZED (
      SELECT ${issueColumns} FROM issues i WHERE (SELECT is_rare FROM probe) AND ${text}
    ),`;
}

// The rows of a page and one more, which tells whether there are further ones.
function candidates(request: IssueListRequest): Prisma.Sql {
  const { sort, size, offset, filters } = request;
  const order = orderBy(sort);
  const [searched, rest] = conditions(request);
  if (filters.search === undefined) {
    return Prisma.sql`
      SELECT row_number() OVER (ORDER BY ${order}) - ${offset}::bigint AS place, false AS is_searched, ${issueColumns}
        FROM issues i WHERE ${rest} ORDER BY ${order} LIMIT ${size + 1} OFFSET ${offset}`;
  }
  const first =
    searched === undefined
      ? Prisma.empty
      : Prisma.sql`(SELECT true AS is_searched, ${issueColumns} FROM issues i WHERE ${searched}) UNION ALL`;
  return Prisma.sql`
    SELECT row_number() OVER (ORDER BY is_searched DESC, ${order}) - ${offset}::bigint AS place, is_searched, ${issueColumns} FROM (
      ${first}
      (SELECT false AS is_searched, ${issueColumns} FROM rare i WHERE ${rest})
      UNION ALL
      (SELECT false, ${issueColumns} FROM issues i
        WHERE NOT (SELECT is_rare FROM probe) AND ${matchesSearch(filters.search)} AND ${rest}
        ORDER BY ${order} LIMIT ${size + 1 + offset})
    ) i ORDER BY is_searched DESC, ${order} LIMIT ${size + 1} OFFSET ${offset}`;
}

// Of the issue whose number was searched for, which comes first, and of the others; the words are not among them.
function conditions({ filters, sort, after: end }: IssueListRequest): [Prisma.Sql | undefined, Prisma.Sql] {
  const own = filterConditions(filters);
  const further = end === undefined || end.length === 0 ? [] : [after(sort, end)];
  const number = filters.searchedNumber;
  if (number === undefined) return [undefined, every([...own, ...further])];
  const others = every([...own, ...further, Prisma.sql`i.number <> ${number}::bigint`]);
  const isFirstPage = end === undefined;
  return [isFirstPage ? every([...own, Prisma.sql`i.number = ${number}::bigint`]) : undefined, others];
}

function every(conditions: Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

function total(request: IssueListRequest): Prisma.Sql {
  if (request.total === 'none') return Prisma.sql`NULL::int`;
  const { search } = request.filters;
  const [searched, rest] = conditions({ ...request, after: undefined });
  const bound = request.total === 'exact' ? Prisma.empty : Prisma.sql`LIMIT ${totalBound(request) + 1}`;
  if (search === undefined) {
    // Newest first, as most pages: from the oldest issue it may be far to the first that matches.
    const order = request.total === 'exact' ? Prisma.empty : Prisma.sql`ORDER BY i.created_at DESC`;
    return Prisma.sql`(SELECT count(*)::int FROM (SELECT FROM issues i WHERE ${rest} ${order} ${bound}) found)`;
  }
  const others = Prisma.sql`
    CASE WHEN (SELECT is_rare FROM probe) THEN (SELECT count(*)::int FROM rare i WHERE ${rest})
    ELSE (SELECT count(*)::int FROM (
      SELECT FROM issues i WHERE ${matchesSearch(search)} AND ${rest} ${bound}) found)
    END`;
  if (searched === undefined) return others;
  return Prisma.sql`${others} + (SELECT count(*)::int FROM issues i WHERE ${searched})`;
}

function totalBound({ filters }: IssueListRequest): number {
  return filters.search === undefined ? totalMax : searchTotalMax;
}
