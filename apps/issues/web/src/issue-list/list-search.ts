import { dayAfter, priorities, statuses } from '../messages.ts';

export const states = ['open', 'done', 'all'] as const;
export type State = (typeof states)[number];

export const orders = {
  '-created_at': 'Newest',
  created_at: 'Oldest',
  '-updated_at': 'Last changed',
  '-priority': 'Priority',
  due_on: 'Due date',
  title: 'Title',
} as const;
export type Order = keyof typeof orders;

export const dues = { overdue: 'Overdue', today: 'Until today', week: 'Within a week' } as const;
export type Due = keyof typeof dues;

/** The filters of the list as parameters of the URL. Several values are separated by commas. */
export interface ListSearch {
  q?: string;
  state?: State;
  status?: string;
  priority?: string;
  assignee?: string;
  label?: string;
  due?: Due;
  order?: Order;
}

const isMember = <Value extends string>(values: readonly Value[], value: unknown): value is Value =>
  values.some((one) => one === value);

/** Drops unknown parameters and values, which the API would refuse. */
export function validateListSearch(search: Record<string, unknown>): ListSearch {
  const { q, state, status, priority, assignee, label, due, order } = search;
  const result: ListSearch = {};
  const known = (value: unknown, values: readonly string[]) =>
    items(value).filter((one) => values.includes(one));
  if (typeof q === 'string' && q.trim() !== '') result.q = q.slice(0, 200);
  if (isMember(states, state) && state !== 'open') result.state = state;
  const chosenStatuses = known(status, statuses);
  if (chosenStatuses.length > 0) result.status = chosenStatuses.join();
  const chosenPriorities = known(priority, priorities);
  if (chosenPriorities.length > 0) result.priority = chosenPriorities.join();
  const people = items(assignee).filter((one) => /^(?:me|none|[0-9a-f-]{36})$/i.test(one));
  if (people.length > 0) result.assignee = people.slice(0, 20).join();
  if (typeof label === 'string' && label !== '') result.label = label.slice(0, 50);
  if (isMember(Object.keys(dues) as Due[], due)) result.due = due;
  if (isMember(Object.keys(orders) as Order[], order) && order !== '-created_at') result.order = order;
  return result;
}

/** The filters of a board, whose columns are the statuses. */
export function validateBoardSearch(search: Record<string, unknown>): ListSearch {
  const { state: _state, status: _status, order: _order, ...filters } = validateListSearch(search);
  return filters;
}

export function items(value: unknown): string[] {
  return typeof value === 'string' ? value.split(',').filter(Boolean) : [];
}

/** Converts the parameters of the URL to those of the API. */
export function apiQuery({ q, state = 'open', status, priority, assignee, label, due, order }: ListSearch) {
  const chosen = items(status);
  return {
    ...(q !== undefined && { search: q.trim() }),
    // Chosen statuses are more exact.
    ...(state !== 'all' && chosen.length === 0 && { is_open: state === 'open' }),
    ...(chosen.length > 0 && { status: chosen }),
    ...(priority !== undefined && { priority: items(priority) }),
    ...(assignee !== undefined && { assignee: items(assignee) }),
    ...(label !== undefined && { label }),
    ...(due === 'overdue' && { is_overdue: true }),
    ...(due === 'today' && { due_before: dayAfter(1) }),
    ...(due === 'week' && { due_before: dayAfter(8) }),
    ...(order !== undefined && { ordering: order }),
  };
}

export const isFiltered = ({ order: _, ...filters }: ListSearch) => Object.keys(filters).length > 0;

export const myIssues = ['assigned', 'created'] as const;
export type MyIssues = (typeof myIssues)[number];

/** The parameters of "My issues". Its usual list has none. */
export function validateMySearch({ of }: Record<string, unknown>): { of?: MyIssues } {
  return of === 'created' ? { of } : {};
}
