import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { sqlTime } from '../issues/issue-document.repository.ts';
import type { SortField, SortKey, SortValue } from '../paging/cursor.ts';
import type { IssueFilters } from './issue-list.ts';

type Sql = PrismaTypes.Sql;

/** How a field sorts, what its values are written as, and their type. Each order has its index. */
const columns: Readonly<Record<SortField, { order: Sql; value: Sql; type: Sql }>> = {
  created_at: {
    order: Prisma.sql`i.created_at`,
    value: sqlTime('i.created_at'),
    type: Prisma.sql`timestamptz`,
  },
  updated_at: {
    order: Prisma.sql`i.updated_at`,
    value: sqlTime('i.updated_at'),
    type: Prisma.sql`timestamptz`,
  },
  priority: {
    order: Prisma.sql`i.priority`,
    value: Prisma.sql`i.priority`,
    type: Prisma.sql`issue_priority`,
  },
  status: { order: Prisma.sql`i.status`, value: Prisma.sql`i.status`, type: Prisma.sql`issue_status` },
  number: { order: Prisma.sql`i.number`, value: Prisma.sql`i.number`, type: Prisma.sql`int` },
  title: {
    order: Prisma.sql`lower(i.title) COLLATE "C"`,
    value: Prisma.sql`lower(i.title)`,
    type: Prisma.sql`text`,
  },
  id: { order: Prisma.sql`i.id`, value: Prisma.sql`i.id`, type: Prisma.sql`uuid` },
};

export function orderBy(sort: readonly SortKey[]): Sql {
  return Prisma.join(
    sort.map(({ field, descending }) =>
      descending ? Prisma.sql`${columns[field].order} DESC` : columns[field].order,
    ),
  );
}

/** The sort values of a row, as a JSON array. */
export function sortValues(sort: readonly SortKey[]): Sql {
  return Prisma.sql`json_build_array(${Prisma.join(sort.map(({ field }) => columns[field].value))})`;
}

/** What comes after a row with these sort values. */
export function after(sort: readonly SortKey[], values: readonly SortValue[]): Sql {
  const bounds = sort.map(({ field, descending }, place) => ({
    column: columns[field].order,
    value: Prisma.sql`${values[place]}::${columns[field].type}`,
    beyond: Prisma.raw(descending ? '<' : '>'),
    descending,
  }));
  const [first] = bounds;
  // One direction is one comparison of rows, which an index answers whole.
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

/** The filters but for the search, as conditions on a row `i`. */
export function filterConditions(filters: IssueFilters): Sql[] {
  const { statuses, priorities, assigneeId, reporterId, links = [] } = filters;
  return [
    ...anyOf('status', statuses),
    ...anyOf('priority', priorities),
    ...(assigneeId === null ? [Prisma.sql`i.assignee_id IS NULL`] : []),
    ...given(assigneeId ?? undefined, (id) => Prisma.sql`i.assignee_id = ${id}::uuid`),
    ...given(reporterId, (id) => Prisma.sql`i.reporter_id = ${id}::uuid`),
    ...links.map(
      ({ type, ref }) => Prisma.sql`EXISTS (SELECT FROM issue_links l
        WHERE l.issue_id = i.id AND l.type = ${type}::link_type AND l.ref = ${ref})`,
    ),
    ...given(filters.createdFrom, (date) => Prisma.sql`i.created_at >= ${date}::timestamptz`),
    ...given(filters.createdBefore, (date) => Prisma.sql`i.created_at < ${date}::timestamptz`),
    ...given(filters.updatedFrom, (date) => Prisma.sql`i.updated_at >= ${date}::timestamptz`),
    ...given(filters.updatedBefore, (date) => Prisma.sql`i.updated_at < ${date}::timestamptz`),
  ];
}

// One value as an equation: its index is in the order of creation.
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
