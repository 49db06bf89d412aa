import { useSyncExternalStore } from 'react';
import type { View } from '../inbox/views.ts';
import type { ListSearch, MyIssues } from './list-search.ts';

const names = { '/issues': 'Issues', '/board': 'Board', '/inbox': 'Inbox', '/my': 'My issues' };
export type ListPath = keyof typeof names;
/** The parameters of any of the lists. */
export interface AnySearch extends ListSearch {
  view?: View;
  of?: MyIssues;
}

interface CameFrom {
  /** The list or board that was shown last. */
  to: ListPath;
  searches: Partial<Record<ListPath, AnySearch>>;
}

const storageKey = 'tessera-came-from';
const listeners = new Set<() => void>();
let last: CameFrom = read();

function read(): CameFrom {
  const nowhere: CameFrom = { to: '/issues', searches: {} };
  try {
    return { ...nowhere, ...(JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as Partial<CameFrom>) };
  } catch {
    return nowhere;
  }
}

/** Remembers the filters, order and search of a list of this tab, so that the way back leads there. */
export function noteList(to: ListPath, search: AnySearch): void {
  last = { to, searches: { ...last.searches, [to]: search } };
  sessionStorage.setItem(storageKey, JSON.stringify(last));
  for (const listener of listeners) listener();
}

/** A row of a list. */
export interface Place {
  key: string;
  /** Names the list with its filters and order. */
  list: string;
  index: number;
}

// Remembered, so that going back from an issue returns to its row, or to that which has taken its place.
let place: Place | undefined;

export const lastPlace = (): Place | undefined => place;

export function notePlace(next: Place): void {
  place = next;
}

/** The keys of the issues of the list or board that was shown last, in its order. */
let order: readonly string[] = [];

export function noteOrder(keys: readonly string[]): void {
  order = keys;
}

/** Returns the key of the issue before or after one in the list that was shown last. The way back leads to its row. */
export function goOn(from: string, by: 1 | -1): string | undefined {
  const index = order.indexOf(from);
  const key = index < 0 ? undefined : order[index + by];
  if (key !== undefined && place !== undefined) place = { ...place, key, index: index + by };
  return key;
}

/** The project in which this tab created its last issue. */
export const lastProjectKey = 'tessera-project';

/** The lists of one person are not those of the next. */
export const forgetLists = () => {
  for (const key of [storageKey, lastProjectKey]) sessionStorage.removeItem(key);
};

export const lastSearch = (to: ListPath): AnySearch => last.searches[to] ?? {};

function useCameFrom(): CameFrom {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => last,
  );
}

export const useLastSearch = (to: ListPath): AnySearch => useCameFrom().searches[to] ?? {};

/** The list from which an issue was opened. */
export function useWayBack(): { to: ListPath; search: AnySearch; name: string } {
  const { to, searches } = useCameFrom();
  return { to, search: searches[to] ?? {}, name: names[to] ?? 'Issues' };
}
