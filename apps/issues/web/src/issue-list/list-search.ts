import { priorities, statuses } from '../messages.ts';

export const states = ['open', 'done', 'all'] as const;
export type State = (typeof states)[number];

export const orders = {
  '-created_at': 'Newest',
  created_at: 'Oldest',
  '-updated_at': 'Last changed',
  '-priority': 'Priority',
  title: 'Title',
} as const;
export type Order = keyof typeof orders;

/** The filters of the list as parameters of the URL. Several values are separated by commas. */
export interface ListSearch {
  q?: string;
  state?: State;
  status?: string;
  priority?: string;
  assignee?: string;
  label?: string;
  order?: Order;
}

const isMember = <Value extends string>(values: readonly Value[], value: unknown): value is Value =>
  values.some((one) => one === value);

/** Drops unknown parameters and values, which the API would refuse. */
export function validateListSearch(search: Record<string, unknown>): ListSearch {
  const { q, state, status, priority, assignee, label, order } = search;
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
export function apiQuery({ q, state = 'open', status, priority, assignee, label, order }: ListSearch) {
  const chosen = items(status);
  return {
    ...(q !== undefined && { search: q.trim() }),
    // Chosen statuses are more exact.
    ...(state !== 'all' && chosen.length === 0 && { is_open: state === 'open' }),
    ...(chosen.length > 0 && { status: chosen }),
    ...(priority !== undefined && { priority: items(priority) }),
    ...(assignee !== undefined && { assignee: items(assignee) }),
    ...(label !== undefined && { label }),
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
