import type { RequestOf } from '@tessera/contracts/requests';
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

const values = { status: statuses, priority: priorities } as const;
const excluding = ['-status', '-priority', '-assignee', '-label', '-reporter'] as const;
const days = ['created_from', 'created_to', 'updated_from', 'updated_to'] as const;
/** Filters of views that were saved through the API. The app keeps them as they are. */
const kept = ['link', 'external', 'sync', 'id', 'due_after', 'due_before', 'due_within'] as const;

/** The filters in the dialog of further filters. */
export const furtherFilters = ['project', 'reporter', 'watcher', ...excluding, ...days] as const;
export type FurtherFilter = (typeof furtherFilters)[number];

/**
 * The filters of the list as parameters of the URL. Several values are separated by commas; a label writes its commas as `%2C`.
 * A `-` before a name excludes values, as in the API.
 */
export interface ListSearch extends Partial<Record<FurtherFilter | (typeof kept)[number], string>> {
  q?: string;
  state?: State;
  status?: string;
  priority?: string;
  assignee?: string;
  label?: string;
  due?: Due;
  order?: string;
  /** The saved view that was opened, and perhaps changed since. */
  saved?: string;
}

const isMember = <Value extends string>(all: readonly Value[], value: unknown): value is Value =>
  all.some((one) => one === value);
const isPerson = (value: string) => /^(?:me|[0-9a-f-]{36})$/i.test(value);
const isDay = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));

/** Drops unknown parameters and values, which the API would refuse. */
export function validateListSearch(search: Record<string, unknown>): ListSearch {
  const { q, state, order, reporter, watcher, saved, due } = search;
  const result: ListSearch = {};
  if (typeof q === 'string' && q.trim() !== '') result.q = q.slice(0, 200);
  if (isMember(states, state) && state !== 'open') result.state = state;
  for (const name of ['status', 'priority', 'assignee', 'label', 'project', ...excluding] as const) {
    const chosen = items(search[name]).filter((one) => isValue(name.replace('-', ''), one));
    const asked = name.startsWith('-') ? items(search[name.slice(1)]) : [];
    const usable = chosen.filter((one) => !asked.includes(one)).slice(0, 20);
    if (usable.length > 0) result[name] = usable.join();
  }
  if (typeof reporter === 'string' && isPerson(reporter)) result.reporter = reporter;
  if (watcher === 'me') result.watcher = watcher;
  for (const name of days) if (isDay(search[name])) result[name] = search[name];
  for (const name of kept) {
    const value = search[name];
    if (typeof value === 'string' && value !== '') result[name] = value;
  }
  if (isOrder(order) && order !== '-created_at') result.order = order;
  if (typeof saved === 'string' && /^[0-9a-f-]{36}$/.test(saved)) result.saved = saved;
  if (isMember(Object.keys(dues) as Due[], due)) result.due = due;
  return result;
}

function isValue(name: string, value: string): boolean {
  if (name === 'status' || name === 'priority') return values[name].some((one) => one === value);
  if (name === 'label') return value.length <= 150;
  if (name === 'project') return /^-?[a-z][a-z0-9]{0,9}$/i.test(value);
  return isPerson(value) || (name === 'assignee' && value === 'none');
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
const several = (
  search: ListSearch,
  name: 'status' | 'priority' | 'assignee' | 'project' | (typeof excluding)[number],
) => (search[name] === undefined ? {} : { [name]: items(search[name]) });

/** Converts the parameters of the URL to those of the API. */
export function apiQuery(search: ListSearch) {
  const { q, state = 'open', status, label, '-label': withoutLabel, order, reporter, watcher } = search;
  return {
    ...(q !== undefined && { search: q.trim() }),
    // Chosen statuses are more exact.
    ...(state !== 'all' && status === undefined && { is_open: state === 'open' }),
    ...several(search, 'status'),
    ...several(search, '-status'),
    ...several(search, 'priority'),
    ...several(search, '-priority'),
    ...several(search, 'assignee'),
    ...several(search, 'project'),
    ...several(search, '-assignee'),
    ...(reporter !== undefined && { reporter }),
    ...several(search, '-reporter'),
    ...(watcher !== undefined && { watcher: 'me' as const }),
    ...(label !== undefined && { label: labelsIn(label) }),
    ...(withoutLabel !== undefined && { '-label': labelsIn(withoutLabel) }),
    ...(search.created_from !== undefined && { created_after: startOf(search.created_from) }),
    ...(search.created_to !== undefined && { created_before: startOf(search.created_to, 1) }),
    ...(search.updated_from !== undefined && { updated_after: startOf(search.updated_from) }),
    ...(search.updated_to !== undefined && { updated_before: startOf(search.updated_to, 1) }),
    ...(search.due === 'overdue' && { is_overdue: true }),
    ...(search.due === 'today' && { due_before: dayAfter(1) }),
    ...(search.due === 'week' && { due_before: dayAfter(8) }),
    ...Object.fromEntries(kept.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]]))),
    ...(order !== undefined && { ordering: order }),
  } satisfies RequestOf<'listIssues'>['query'];
}

export const isFiltered = ({ order: _order, saved: _saved, ...filters }: ListSearch) =>
  Object.keys(filters).length > 0;

export const myIssues = ['assigned', 'created'] as const;
export type MyIssues = (typeof myIssues)[number];

/** The parameters of "My issues". Its usual list has none. */
export function validateMySearch({ of }: Record<string, unknown>): { of?: MyIssues } {
  return of === 'created' ? { of } : {};
}
