import { useSyncExternalStore } from 'react';
import type { CardPlace } from '../board/card-focus.ts';
import type { NotePlace } from '../inbox/inbox-rows.tsx';
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
let last: CameFrom = { to: '/issues', searches: {}, ...read<CameFrom>(storageKey) };

function read<Stored>(key: string): Partial<Stored> {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Stored>;
  } catch {
    return {};
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

interface Places {
  /** The address at which the page was left. */
  at?: string;
  list?: Place;
  card?: CardPlace;
  note?: NotePlace;
  /** The keys of the issues of the list or board that was shown last, in its order. */
  order?: readonly string[];
}

const placesKey = 'tessera-places';
const orderMax = 1_000;
const left = read<Places>(placesKey);
/** Remembered, also over a reload, so that going back from an issue returns to its row, or to that which has taken its place. */
export const places: Places = left.at === location.href ? left : {};

addEventListener('pagehide', () => {
  const { order = [] } = places;
  const kept = { ...places, at: location.href, order: order.slice(0, orderMax) };
  sessionStorage.setItem(placesKey, JSON.stringify(kept));
});

export const lastPlace = (): Place | undefined => places.list;

export function notePlace(next: Place): void {
  places.list = next;
}

export function noteOrder(keys: readonly string[]): void {
  places.order = keys;
}

/** The project in which this tab created its last issue. */
export const lastProjectKey = 'tessera-project';

/** The lists of one person are not those of the next. */
export const forgetLists = () => {
  for (const name of Object.keys(places)) delete places[name as keyof Places];
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
