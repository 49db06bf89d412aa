import type { FilterName } from '@tessera/contracts';
import type { ParameterValue } from '@tessera/contracts/requests';
import { dayAfter, priorities, statuses } from '../messages.ts';

export const states = ['open', 'done', 'all'] as const;
export type State = (typeof states)[number];

/** The orders of the list of orders. The head of the table has others. */
export const orders = {
  '-created_at': 'Newest',
  created_at: 'Oldest',
  '-updated_at': 'Last changed',
  '-priority': 'Priority',
  due_on: 'Due date',
  title: 'Title',
} as const;

export const dues = { overdue: 'Overdue', today: 'Until today', week: 'Within a week' } as const;
export type Due = keyof typeof dues;

const isOrder = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^(?:(?:^|,)-?(?:created_at|updated_at|due_on|priority|status|number|title)\b){1,6}$/.test(value);

const isOneOf = (all: readonly string[]) => (value: string) => all.includes(value);
const isPerson = (value: string) => /^(?:me|[0-9a-f-]{36})$/i.test(value);
const isAssignee = (value: string) => value === 'none' || isPerson(value);
const isProject = (value: string) => /^-?[a-z][a-z0-9]{0,9}$/i.test(value);
const isDay = (value: string) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));

/** A filter of the list as a parameter of the URL. */
interface UrlFilter {
  /** Several values are separated by commas; a label writes its commas as `%2C`. `from` and `to` are days. */
  kind: 'text' | 'list' | 'labels' | 'from' | 'to';
  /** Whether the API accepts a value. */
  isUsable: (value: string) => boolean;
  /** The parameter of the API, if it has another name. */
  api?: FilterName;
}

const list = (isUsable: UrlFilter['isUsable']): UrlFilter => ({ kind: 'list', isUsable });
const text = (isUsable: UrlFilter['isUsable'] = () => true): UrlFilter => ({ kind: 'text', isUsable });
const labels: UrlFilter = { kind: 'labels', isUsable: (value) => value.length <= 150 };
const from = (api: FilterName): UrlFilter => ({ kind: 'from', isUsable: isDay, api });
const to = (api: FilterName): UrlFilter => ({ kind: 'to', isUsable: isDay, api });

/** The filters beside the search. Their editors are in `list-filters.tsx`. */
const barFilters = {
  status: list(isOneOf(statuses)),
  priority: list(isOneOf(priorities)),
  assignee: list(isAssignee),
  label: labels,
};
/** The filters in the dialog of further filters, which has an editor for each. A `-` before a name excludes values, as in the API. */
export const furtherFilters = {
  project: list(isProject),
  '-status': list(isOneOf(statuses)),
  '-priority': list(isOneOf(priorities)),
  '-assignee': list(isAssignee),
  '-label': labels,
  '-reporter': list(isPerson),
  reporter: text(isPerson),
  watcher: text(isOneOf(['me'])),
  created_from: from('created_after'),
  created_to: to('created_before'),
  updated_from: from('updated_after'),
  updated_to: to('updated_before'),
};
/** Filters of views that were saved through the API. The app keeps them as they are. */
const keptFilters = {
  link: text(),
  external: text(),
  sync: text(),
  id: text(),
  due_after: text(),
  due_before: text(),
  due_within: text(),
};
export type FurtherFilter = keyof typeof furtherFilters;
type UrlFilterName = FurtherFilter | keyof typeof barFilters | keyof typeof keptFilters;

/** The filters of the API that the URL has in another form: `q`, `state`, `due`, and days instead of times. */
type OtherForm = 'search' | 'is_open' | 'is_overdue' | `${'created' | 'updated'}_${'after' | 'before'}`;

/** Has all filters of the API, in the order of the URL. */
export const urlFilters: Readonly<Record<UrlFilterName | Exclude<FilterName, OtherForm>, UrlFilter>> = {
  ...barFilters,
  ...furtherFilters,
  ...keptFilters,
};
export const urlFilterNames = Object.keys(urlFilters) as UrlFilterName[];

/** The filters and the order of the list as parameters of the URL. */
export interface ListSearch extends Partial<Record<UrlFilterName, string>> {
  q?: string;
  state?: State;
  due?: Due;
  order?: string;
  /** The saved view that was opened, and perhaps changed since. */
  saved?: string;
}

const isMember = <Value extends string>(all: readonly Value[], value: unknown): value is Value =>
  all.some((one) => one === value);

/** Drops unknown parameters and values, which the API would refuse. */
export function validateListSearch(search: Record<string, unknown>): ListSearch {
  const { q, state, order, saved, due } = search;
  const result: ListSearch = {};
  if (typeof q === 'string' && q.trim() !== '') result.q = q.slice(0, 200);
  if (isMember(states, state) && state !== 'open') result.state = state;
  for (const name of urlFilterNames) {
    const { kind, isUsable } = urlFilters[name];
    const given = search[name];
    const chosen = kind === 'list' || kind === 'labels' ? items(given) : [given];
    const asked = name.startsWith('-') ? items(search[name.slice(1)]) : [];
    const usable = chosen.filter(
      (one) => typeof one === 'string' && one !== '' && isUsable(one) && !asked.includes(one),
    );
    if (usable.length > 0) result[name] = usable.slice(0, 20).join();
  }
  if (isOrder(order) && order !== '-created_at') result.order = order;
  if (typeof saved === 'string' && /^[0-9a-f-]{36}$/.test(saved)) result.saved = saved;
  if (isMember(Object.keys(dues) as Due[], due)) result.due = due;
  return result;
}

/** The filters of a board, whose columns are the statuses. */
export function validateBoardSearch(search: Record<string, unknown>): ListSearch {
  const {
    state: _state,
    status: _status,
    '-status': _not,
    order: _order,
    ...filters
  } = validateListSearch(search);
  return filters;
}

export function items(value: unknown): string[] {
  return typeof value === 'string' ? value.split(',').filter(Boolean) : [];
}

/** The names of labels in a parameter. */
export const labelsIn = (value: unknown) =>
  items(value).map((one) => one.replaceAll('%2C', ',').replaceAll('%25', '%'));
export const labelsText = (names: readonly string[]) =>
  names.map((name) => name.replaceAll('%', '%25').replaceAll(',', '%2C')).join();

/** The first moment of a day, here. */
const startOf = (day: string, daysLater = 0) => {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + daysLater).toISOString();
};
type ApiQuery = Partial<Record<FilterName | 'ordering', ParameterValue>>;

const toApi = {
  text: (value: string) => value,
  list: items,
  labels: labelsIn,
  from: (day: string) => startOf(day),
  to: (day: string) => startOf(day, 1),
};

/** Converts the parameters of the URL to those of the API. */
export function apiQuery(search: ListSearch): ApiQuery {
  const { q, state = 'open', due, order } = search;
  const query: ApiQuery = {};
  if (q !== undefined) query.search = q.trim();
  // Chosen statuses are more exact.
  if (state !== 'all' && search.status === undefined) query.is_open = state === 'open';
  if (due === 'overdue') query.is_overdue = true;
  if (due === 'today') query.due_before = dayAfter(1);
  if (due === 'week') query.due_before = dayAfter(8);
  for (const name of urlFilterNames) {
    const value = search[name];
    const { kind, api = name as FilterName } = urlFilters[name];
    if (value !== undefined) query[api] = toApi[kind](value);
  }
  if (order !== undefined) query.ordering = order;
  return query;
}

export const isFiltered = ({ order: _order, saved: _saved, ...filters }: ListSearch) =>
  Object.keys(filters).length > 0;

export const myIssues = ['assigned', 'created'] as const;
export type MyIssues = (typeof myIssues)[number];

/** The parameters of "My issues". Its usual list has none. */
export function validateMySearch({ of }: Record<string, unknown>): { of?: MyIssues } {
  return of === 'created' ? { of } : {};
}
