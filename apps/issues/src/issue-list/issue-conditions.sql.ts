import type { Prisma as PrismaTypes } from '../generated/prisma/client.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { openStatuses } from '../issue-core/issue-status.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { isSeen, numbersOf, selectSynced } from '../issue-store/issue.sql.ts';
import type { IssueFilters, IssueListRequest, SortField, SortKey, SortValue } from './issue-list.ts';

export type Sql = PrismaTypes.Sql;

/** A list request with the configured tracker, to which the filter `sync` applies. */
export interface TrackedRequest extends IssueListRequest {
  tracker: TrackerIdentity | undefined;
}

export function every(conditions: Sql[]): Sql {
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

// A literal instead of a parameter: a statement without parameters keeps its plan (see createListDatabase).
export function literal(value: number): Sql {
  return Prisma.raw(String(Math.trunc(value)));
}

/** An issue without a due date is the last. */
const dueOn = Prisma.sql`coalesce(i.due_on, 'infinity'::date)`;

/** The indexed expression of each sort field, and the expression of its value in a cursor. */
export const sorting: Readonly<
  Record<SortField, { order: Sql; bound: (value: SortValue | undefined) => Sql }>
> = {
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
  due_on: { order: dueOn, bound: (value) => Prisma.sql`${value}::date` },
  number: { order: Prisma.sql`i.number`, bound: (value) => Prisma.sql`${value}::int` },
  title: {
    order: Prisma.sql`lower(i.title) COLLATE "C"`,
    bound: (value) => Prisma.sql`lower(${value}::text)`,
  },
  id: { order: Prisma.sql`i.id`, bound: (value) => Prisma.sql`${value}::uuid` },
};

export function orderBy(sort: readonly SortKey[]): Sql {
  return Prisma.join(
    sort.map(({ field, descending }) =>
      descending ? Prisma.sql`${sorting[field].order} DESC` : sorting[field].order,
    ),
  );
}

/** The condition for the issues after the one with these sort values. */
export function afterPlace({ sort, after }: IssueListRequest): Sql[] {
  if (after === undefined || after.length === 0) return [];
  const bounds = sort.map(({ field, descending }, place) => ({
    column: sorting[field].order,
    value: sorting[field].bound(after[place]),
    beyond: Prisma.raw(descending ? '<' : '>'),
    descending,
  }));
  const [first] = bounds;
  // If all keys have one direction, a single row comparison suffices, which an index can evaluate.
  if (first !== undefined && bounds.every((bound) => bound.descending === first.descending)) {
    const [columns, values] = [bounds.map(({ column }) => column), bounds.map(({ value }) => value)];
    return [Prisma.sql`(${Prisma.join(columns)}) ${first.beyond} (${Prisma.join(values)})`];
  }
  const steps = bounds.map((bound, place) => {
    const equal = bounds.slice(0, place).map(({ column, value }) => Prisma.sql`${column} = ${value}`);
    return Prisma.join([...equal, Prisma.sql`${bound.column} ${bound.beyond} ${bound.value}`], ' AND ');
  });
  return [Prisma.sql`((${Prisma.join(steps, ') OR (')}))`];
}

/**
 * How the rows of other tables are found: `each` looks into their index for a row `i`; `all` reads that many ids first, at
 * most, and compares the rows with them.
 */
export type Lookup = 'each' | { all: number };

/** A search has its own statements. */
type FilterName = Exclude<keyof IssueFilters, 'search' | 'searchedNumber'>;

type Values = Required<{ [Name in FilterName]: NonNullable<IssueFilters[Name]> }>;

interface FilterSql<Value> {
  /** The condition on the row `i`. */
  condition: (value: Value, request: TrackedRequest, lookup: Lookup) => Sql;
  /** The column that the condition reads, if the index of the order by creation lacks it. */
  column?: 'label_ids' | 'project_id' | 'due_on';
}

const today = Prisma.sql`(now() AT TIME ZONE 'UTC')::date`;

const filterSql: { readonly [Name in FilterName]: FilterSql<Values[Name]> } = {
  id: { condition: (some, { scope }) => isOneOf(some, scope) },
  status: { condition: (values) => anyOf('status', values) },
  priority: { condition: (values) => anyOf('priority', values) },
  assignee: { condition: isAssignedToAny },
  '-assignee': { condition: isAssignedToNone },
  reporter: { condition: (id) => Prisma.sql`i.reporter_id = ${id}::uuid` },
  '-reporter': { condition: (ids) => Prisma.sql`i.reporter_id <> ALL(${ids}::uuid[])` },
  watcher: { condition: isWatchedBy },
  link: { condition: (link, _, lookup) => isAmong(selectLinked(link), lookup) },
  external: { condition: (ref, _, lookup) => isAmong(selectLinked({ type: 'external_issue', ref }), lookup) },
  label: { column: 'label_ids', condition: hasLabels },
  '-label': { column: 'label_ids', condition: (ids) => Prisma.sql`NOT i.label_ids && ${ids}::uuid[]` },
  project: { column: 'project_id', condition: isOfProjects },
  '-project': {
    column: 'project_id',
    condition: (ids) => Prisma.sql`i.project_id <> ALL(${ids}::uuid[])`,
  },
  sync: { condition: (sync, { tracker }, lookup) => isAmong(selectSynced(sync, tracker), lookup) },
  due_after: {
    column: 'due_on',
    condition: (day) => Prisma.sql`(${dueOn} >= ${day}::date AND i.due_on IS NOT NULL)`,
  },
  due_before: { column: 'due_on', condition: (day) => Prisma.sql`${dueOn} < ${day}::date` },
  due_within: { column: 'due_on', condition: (days) => Prisma.sql`${dueOn} <= ${today} + ${days}::int` },
  is_overdue: {
    column: 'due_on',
    condition: (is) => {
      const overdue = every([Prisma.sql`${dueOn} < ${today}`, anyOf('status', openStatuses)]);
      return is ? overdue : Prisma.sql`NOT (${overdue})`;
    },
  },
  created_after: { condition: (date) => Prisma.sql`i.created_at >= ${date}::timestamptz` },
  created_before: { condition: (date) => Prisma.sql`i.created_at < ${date}::timestamptz` },
  updated_after: { condition: (date) => Prisma.sql`i.updated_at >= ${date}::timestamptz` },
  updated_before: { condition: (date) => Prisma.sql`i.updated_at < ${date}::timestamptz` },
};
const filterNames = Object.keys(filterSql) as FilterName[];

/** The conditions on the row `i` of all filters except the search. */
export function filterConditions(request: TrackedRequest, lookup: Lookup = 'each'): Sql[] {
  const { scope } = request;
  return [...(isWhole(scope) ? [] : [isSeen(scope)]), ...conditionsOf(filterNames, request, lookup)];
}

/** The conditions of those of the named filters that are given. */
function conditionsOf(names: readonly FilterName[], request: TrackedRequest, lookup: Lookup = 'each'): Sql[] {
  return names.flatMap((name) => conditionOf(name, request, lookup));
}

function conditionOf<Name extends FilterName>(name: Name, request: TrackedRequest, lookup: Lookup): Sql[] {
  const value = request.filters[name] as Values[Name] | undefined;
  return value === undefined ? [] : [filterSql[name].condition(value, request, lookup)];
}

/** The columns of the row `i` that the filters read, and that the index of the order by creation lacks. */
export function filterColumns(filters: IssueFilters): string[] {
  const given = filterNames.filter((name) => filters[name] !== undefined);
  return given.flatMap((name) => filterSql[name].column ?? []);
}

/** Selects the ids of the issues with a link, as `issue_id`. */
function selectLinked({ type, ref }: NonNullable<IssueFilters['link']>): Sql {
  return Prisma.sql`SELECT issue_id FROM issue_links WHERE type = ${type}::link_type AND ref = ${ref}`;
}

// `OFFSET 0` and `LIMIT` keep PostgreSQL from choosing the other way, by statistics that may be wrong.
function isAmong(ids: Sql, lookup: Lookup): Sql {
  return lookup === 'each'
    ? Prisma.sql`EXISTS (${ids} AND issue_id = i.id OFFSET 0)`
    : Prisma.sql`i.id IN (${ids} ORDER BY issue_id DESC LIMIT ${literal(lookup.all)})`;
}

function hasLabels(ids: readonly string[]): Sql {
  // The second condition matches the partial index.
  return Prisma.sql`i.label_ids @> ${[...ids]}::uuid[] AND i.label_ids <> '{}'`;
}

/** Maximum number of issues that a list finds by their watcher: those that the person watches since the latest times. */
const watchedMax = 10_000;

// Each set of ids is read once, by an index alone; within OR, PostgreSQL cannot turn it into a join. The reporter watches without a
// row, unless the row says otherwise.
function isWatchedBy(id: string): Sql {
  const max = literal(watchedMax);
  return Prisma.sql`(i.id IN (
      SELECT issue_id FROM issue_watchers WHERE user_id = ${id}::uuid AND is_watching ORDER BY since DESC, issue_id DESC LIMIT ${max}
    ) OR (i.reporter_id = ${id}::uuid AND i.reporter_watches AND i.id NOT IN (
      SELECT issue_id FROM issue_watchers WHERE user_id = ${id}::uuid AND NOT is_watching ORDER BY issue_id DESC LIMIT ${max}
    )))`;
}

/** Selects the ids of the issues that a person watches, and more of those that they reported, as `issue_id`. */
function selectWatchable(id: string): Sql {
  return Prisma.sql`
    SELECT issue_id FROM issue_watchers WHERE user_id = ${id}::uuid AND is_watching
    UNION ALL SELECT i.id FROM issues i WHERE i.reporter_id = ${id}::uuid`;
}

function isAssignedToNone(ids: NonNullable<IssueFilters['-assignee']>): Sql {
  const people = ids.filter((id) => id !== null);
  const isOther = Prisma.sql`i.assignee_id <> ALL(${people}::uuid[])`;
  return ids.includes(null)
    ? Prisma.sql`(i.assignee_id IS NOT NULL AND ${isOther})`
    : Prisma.sql`(i.assignee_id IS NULL OR ${isOther})`;
}

// A single person becomes an equality, whose index returns issues in the order of creation.
function isAssignedToAny(ids: NonNullable<IssueFilters['assignee']>): Sql {
  const people = ids.filter((id) => id !== null);
  const [first, ...others] = people;
  const conditions = [
    ...(others.length > 0 ? [Prisma.sql`i.assignee_id = ANY(${people}::uuid[])`] : []),
    ...(others.length === 0 && first !== undefined ? [Prisma.sql`i.assignee_id = ${first}::uuid`] : []),
    ...(ids.includes(null) ? [Prisma.sql`i.assignee_id IS NULL`] : []),
  ];
  return Prisma.sql`(${Prisma.join(conditions, ' OR ')})`;
}

export function isOneOf({ ids, numbers }: NonNullable<IssueFilters['id']>, scope: ReadScope): Sql {
  const byId = Prisma.sql`i.id = ANY(${[...ids]}::uuid[])`;
  const byNumber = Prisma.sql`i.number = ANY(${numbersOf(numbers, scope)})`;
  if (numbers.length === 0) return byId;
  return ids.length === 0 ? byNumber : Prisma.sql`(${byId} OR ${byNumber})`;
}

// A single project becomes an equality, whose index returns issues in the order of creation.
function isOfProjects(ids: readonly string[]): Sql {
  const [only, ...others] = ids;
  return only !== undefined && others.length === 0
    ? Prisma.sql`i.project_id = ${only}::uuid`
    : Prisma.sql`i.project_id = ANY(${[...ids]}::uuid[])`;
}

// A single value becomes an equality, whose index returns issues in the order of creation.
function anyOf(column: 'status' | 'priority', values: readonly string[]): Sql {
  const name = Prisma.raw(`i.${column}`);
  const type = Prisma.raw(`issue_${column}`);
  const [only, ...others] = values;
  return only !== undefined && others.length === 0
    ? Prisma.sql`${name} = ${only}::${type}`
    : Prisma.sql`${name} = ANY(${[...values]}::${type}[])`;
}

/**
 * For each filter that an index serves, a statement that selects the ids of its issues, as `issue_id`; those that usually match few
 * issues are first.
 */
export function selectByOneFilter(request: TrackedRequest): Sql[] {
  const { link, external, sync, watcher, assignee, is_overdue } = request.filters;
  const where = (conditions: Sql[]) =>
    conditions.length === 0
      ? []
      : [Prisma.sql`SELECT i.id AS issue_id FROM issues i WHERE ${every(conditions)}`];
  const by = (...names: FilterName[]) => where(conditionsOf(names, request));
  return [
    ...by('id'),
    ...given(link, selectLinked),
    ...given(external, (ref) => selectLinked({ type: 'external_issue', ref })),
    ...given(sync, (state) => selectSynced(state, request.tracker)),
    ...by('label'),
    ...given(watcher, selectWatchable),
    ...by('reporter'),
    ...given(assignee, (ids) =>
      Prisma.join(
        ids.flatMap((id) => where([isAssignedToAny([id])])),
        ' UNION ALL ',
      ),
    ),
    ...by('project'),
    ...by('due_after', 'due_before', 'due_within', ...(is_overdue ? ['is_overdue' as const] : [])),
    ...by('status'),
    ...by('priority'),
    ...by('updated_after', 'updated_before'),
    ...by('created_after', 'created_before'),
  ];
}

function given<Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql[] {
  return value === undefined ? [] : [condition(value)];
}
