import { issuePriorities, issueStatuses } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { isWhole } from '../issue-core/project-access.ts';
import { literal, type Sql, sorting } from './issue-conditions.sql.ts';
import type { IssueFilters, IssueListRequest, SortKey } from './issue-list.ts';

/** A part of a list that an index has in order: that of one value, or the whole list without a value. */
export interface Walk {
  column?: Sql;
  value?: Sql;
  sort: readonly SortKey[];
  after?: IssueListRequest['after'];
  /** The range of the first sort field. */
  from?: Date | undefined;
  before?: Date | undefined;
}

/** The orders that an index has, in both directions. */
const indexedOrders = [
  'created_at id',
  'updated_at created_at id',
  'priority created_at id',
  'status created_at id',
  'due_on created_at id',
  'title created_at id',
  'number',
];

export function isIndexed(sort: readonly SortKey[]): boolean {
  const isOneWay = sort.every(({ descending }) => descending === sort[0]?.descending);
  return isOneWay && indexedOrders.includes(fieldsOf(sort));
}

export function isByCreation(sort: readonly SortKey[]): boolean {
  return isIndexed(sort) && sort[0]?.field === 'created_at';
}

/** Whether the index of the order has the columns of most filters, so that looking through a list reads no issue. */
export function isCovered(sort: readonly SortKey[]): boolean {
  return isByCreation(sort) || (isIndexed(sort) && sort[0]?.field === 'updated_at');
}

function fieldsOf(sort: readonly SortKey[]): string {
  return sort.map(({ field }) => field).join(' ');
}

/**
 * The parts of which a list consists, if indexes have them in the order of the list, and no filter rejects an issue on the way.
 * Reading a page then costs as much in every list.
 */
export function walksOf(request: IssueListRequest): Walk[] | undefined {
  const { sort } = request;
  const given = namesOf(request);
  if (hasOnlyRange(request) && isIndexed(sort)) return [wholeWalk(request)];
  const column = enumOf(sort) ?? columnNames.find((name) => given.includes(name));
  if (column === undefined) return undefined;
  const rest = sort[0]?.field === column ? sort.slice(1) : sort;
  const allowed = [column, ...rangeNames(rest)];
  const values = valuesOf(column, request);
  if (
    !isByCreation(rest) ||
    values === undefined ||
    values.length === 0 ||
    !given.every((name) => allowed.includes(name))
  )
    return undefined;
  return walksOfColumn(column, values, rest, request);
}

function walksOfColumn(
  column: Column,
  values: readonly string[],
  rest: readonly SortKey[],
  { sort, filters, after = [] }: IssueListRequest,
): Walk[] {
  const { name, type } = columns[column];
  const walkTo = (value: string, place: IssueListRequest['after']): Walk => ({
    column: name,
    value: Prisma.sql`${value}::${type}`,
    sort: rest,
    after: place,
    ...rangeOf(rest, filters),
  });
  if (rest === sort) return values.map((value) => walkTo(value, after));
  const inOrder = sort[0]?.descending ? values.toReversed() : values;
  const [reached, ...place] = after;
  if (reached === undefined) return inOrder.map((value) => walkTo(value, []));
  const isAt = ({ value }: { value: string }) => value === reached;
  const places = inOrder.map((value, index) => ({ value, index }));
  const current = places.find(isAt)?.index;
  // A value that the filter excludes is in no cursor of this list.
  return places
    .filter(({ index }) => index >= (current ?? 0))
    .map(({ value, index }) => walkTo(value, index === current ? place : []));
}

/** The columns with an index in the order of creation, by their filters. */
const columns = {
  reporter: { name: Prisma.raw('i.reporter_id'), type: Prisma.raw('uuid') },
  assignee: { name: Prisma.raw('i.assignee_id'), type: Prisma.raw('uuid') },
  status: { name: Prisma.raw('i.status'), type: Prisma.raw('issue_status') },
  priority: { name: Prisma.raw('i.priority'), type: Prisma.raw('issue_priority') },
  project: { name: Prisma.raw('i.project_id'), type: Prisma.raw('uuid') },
} as const;
type Column = keyof typeof columns;
const columnNames = ['reporter', 'assignee', 'status', 'priority', 'project'] as const;

function enumOf([first]: readonly SortKey[]): Column | undefined {
  return first?.field === 'status' || first?.field === 'priority' ? first.field : undefined;
}

/** The values of a column that a list has; undefined if an index cannot find them in order. */
function valuesOf(column: Column, { filters }: IssueListRequest): readonly string[] | undefined {
  const { project, status, priority, reporter, assignee } = filters;
  if (column === 'project') return project;
  if (column === 'status') return issueStatuses.filter((one) => status?.includes(one) ?? true);
  if (column === 'priority') return issuePriorities.filter((one) => priority?.includes(one) ?? true);
  if (column === 'reporter') return reporter === undefined ? undefined : [reporter];
  const ids = assignee?.filter((id) => id !== null);
  return ids?.length === assignee?.length ? ids : undefined;
}

/** The range of times that a walk in an order begins and ends with. */
function rangeOf(sort: readonly SortKey[], filters: IssueFilters): Pick<Walk, 'from' | 'before'> {
  if (sort[0]?.field === 'created_at') return { from: filters.created_after, before: filters.created_before };
  if (sort[0]?.field === 'updated_at') return { from: filters.updated_after, before: filters.updated_before };
  return {};
}

function rangeNames(sort: readonly SortKey[]): string[] {
  if (sort[0]?.field === 'created_at') return ['created_after', 'created_before'];
  return sort[0]?.field === 'updated_at' ? ['updated_after', 'updated_before'] : [];
}

/** Whether a list has no filter but a range of its order. */
export function hasOnlyRange(request: IssueListRequest): boolean {
  const names = rangeNames(request.sort);
  return namesOf(request).every((name) => names.includes(name));
}

/** The names of the filters of a list, of which the scope of its reader is one. */
export function namesOf(request: IssueListRequest): string[] {
  const given = { ...request.filters, hidden: isWhole(request.scope) ? undefined : request.scope };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/**
 * The rows `i` of a walk, in order. The first column of the index is in the order and in both bounds, so that no other index serves
 * with any statistics.
 */
export function walk({ column, value, sort, after, from, before }: Walk): Sql {
  const descending = sort[0]?.descending ?? true;
  const compared = (operator: string, values: readonly Sql[]) => {
    const all = [...(column === undefined ? [] : [column]), ...sort.map(({ field }) => sorting[field].order)];
    const operands = [...(value === undefined ? [] : [value]), ...values];
    const row = (list: readonly Sql[]) =>
      list.length === 1 ? Prisma.sql`${list[0]}` : Prisma.sql`(${Prisma.join([...list])})`;
    return operands.length === 0
      ? []
      : [Prisma.sql`${row(all.slice(0, operands.length))} ${Prisma.raw(operator)} ${row(operands)}`];
  };
  const time = (date: Date) => [Prisma.sql`${date}::timestamptz`];
  const place = after?.map((one, index) => sorting[sort[index]?.field ?? 'id'].bound(one)) ?? [];
  const lower = from === undefined ? compared('>=', []) : compared('>=', time(from));
  const upper = before === undefined ? compared('<=', []) : compared('<', time(before));
  const start = place.length > 0 ? compared(descending ? '<' : '>', place) : descending ? upper : lower;
  const conditions = [...start, ...(descending ? lower : upper)];
  const order = [column, ...sort.map(({ field }) => sorting[field].order)].filter((key) => key !== undefined);
  const direction = Prisma.raw(descending ? ' DESC' : '');
  return Prisma.sql`FROM issues i ${
    conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join(conditions, ' AND ')}`
  } ORDER BY ${Prisma.join(order.map((key) => Prisma.sql`${key}${direction}`))}`;
}

/** Selects columns of the first rows `i` of each walk. */
export function walkAll(walks: readonly Walk[], selected: Sql, limit: Sql): Sql {
  return Prisma.join(
    walks.map((one) => Prisma.sql`(SELECT ${selected} ${walk(one)} LIMIT ${limit})`),
    ' UNION ALL ',
  );
}

/** The walk along an order that an index has, without filters other than its range. */
export function wholeWalk({ sort, filters, after }: IssueListRequest): Walk {
  return { sort, after, ...rangeOf(sort, filters) };
}

/** Selects how many issues walks have together, at most `limit`. */
export function countWalks(walks: readonly Walk[], limit: number): Sql {
  const isOfAll = walks.some(({ column, from, before }) => (column ?? from ?? before) === undefined);
  // The smallest index has all issues.
  const each = isOfAll
    ? Prisma.sql`SELECT FROM issues i ORDER BY i.number DESC`
    : walkAll(walks, Prisma.empty, literal(limit));
  return Prisma.sql`(SELECT count(*)::int FROM (SELECT FROM (${each}) i LIMIT ${literal(limit)}) found)`;
}
