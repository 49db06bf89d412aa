import { Prisma } from '../generated/prisma/client.ts';
import { issueColumns } from '../issues/issue-document.repository.ts';
import { after, filterConditions, orderBy, sortValues } from './issue-list.sql.ts';
import { type IssueListRequest, totalMax } from './issue-list.ts';
import { cheapTotal, exactTotal, foundIssues, searchSteps } from './issue-search.sql.ts';

/**
 * A page of a list: `items`, an aggregate over its rows `i` and their `relations`, where it ended, and the total. One row.
 */
export function pageStatement(
  request: IssueListRequest,
  items: Prisma.Sql,
  relations: Prisma.Sql,
): Prisma.Sql {
  const size = integer(request.size);
  return Prisma.sql`
    WITH ${request.filters.search === undefined ? listed(request) : searched(request)}
    SELECT coalesce(${items}, '') AS items,
      (SELECT CASE WHEN i.is_searched THEN '[]'::json ELSE ${sortValues(request.sort)} END FROM page i
        WHERE i.place = ${size} AND EXISTS (SELECT FROM page WHERE place > ${size})) AS ended,
      ${total(request)} AS total
      FROM page i ${relations}
     WHERE i.place <= ${size}`;
}

// The rows of a page and one more, which tells whether there are further ones.
function listed(request: IssueListRequest): Prisma.Sql {
  const { sort, size, offset } = request;
  const order = orderBy(sort);
  return Prisma.sql`
    page AS MATERIALIZED (
      SELECT row_number() OVER (ORDER BY ${order}) - ${integer(offset)} AS place, false AS is_searched, ${issueColumns}
        FROM issues i WHERE ${conditionsOf(request)} ORDER BY ${order} LIMIT ${integer(size + 1)} OFFSET ${integer(offset)}
    )`;
}

function searched(request: IssueListRequest): Prisma.Sql {
  const { sort, size, offset } = request;
  const order = orderBy(sort);
  const search = searchOf(request);
  const numbered = isNumbered(request);
  const first =
    numbered === undefined
      ? Prisma.empty
      : Prisma.sql`(SELECT true AS is_searched, ${issueColumns} FROM issues i WHERE ${numbered}) UNION ALL`;
  return Prisma.sql`
    ${searchSteps(search)}, page AS MATERIALIZED (
      SELECT row_number() OVER (ORDER BY is_searched DESC, ${order}) - ${integer(offset)} AS place, is_searched,
             ${issueColumns}
        FROM (${first} ${foundIssues(search)}) i
       ORDER BY is_searched DESC, ${order} LIMIT ${integer(size + 1)} OFFSET ${integer(offset)}
    )`;
}

function searchOf(request: IssueListRequest) {
  const { filters, sort, size, offset } = request;
  return {
    words: filters.search ?? '',
    conditions: conditionsOf(request),
    order: orderBy(sort),
    limit: size + 1 + offset,
  };
}

function conditionsOf({ filters, sort, after: end }: IssueListRequest): Prisma.Sql {
  const { searchedNumber } = filters;
  return every([
    ...filterConditions(filters),
    ...(end === undefined || end.length === 0 ? [] : [after(sort, end)]),
    // It comes first, and only there.
    ...(searchedNumber === undefined ? [] : [Prisma.sql`i.number <> ${searchedNumber}::bigint`]),
  ]);
}

// The issue whose number was searched for; it stands at the beginning of the first page.
function isNumbered({ filters, after: end }: IssueListRequest): Prisma.Sql | undefined {
  const { searchedNumber } = filters;
  if (searchedNumber === undefined || end !== undefined) return undefined;
  return every([...filterConditions(filters), Prisma.sql`i.number = ${searchedNumber}::bigint`]);
}

function every(conditions: Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

// Of the whole list, wherever this page begins.
function total(request: IssueListRequest): Prisma.Sql {
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

// A bounded count goes newest first, as most pages: from the oldest issue it may be far to the first that matches.
function totalOfListed(request: IssueListRequest): Prisma.Sql {
  const bound =
    request.total === 'exact'
      ? Prisma.empty
      : Prisma.sql`ORDER BY i.created_at DESC LIMIT ${integer(totalMax + 1)}`;
  return Prisma.sql`
    (SELECT count(*)::int FROM (SELECT FROM issues i WHERE ${conditionsOf(request)} ${bound}) found)`;
}

// As text: of a bound that is a parameter the planner knows nothing.
function integer(value: number): Prisma.Sql {
  return Prisma.raw(String(Math.trunc(value)));
}
