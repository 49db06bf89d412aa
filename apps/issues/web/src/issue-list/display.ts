import { useSyncExternalStore } from 'react';
import { useUser } from '../shell/user.ts';
import { type Grouping, groupings } from './groups.ts';

/** How a person wants to see lists, kept in the browser. */
export interface Display {
  group: Grouping;
  isCompact: boolean;
}

const listeners = new Set<() => void>();
const keyOf = (personId: string) => `tessera-display-${personId}`;

function read(text: string | null): Display {
  const [group, density] = text?.split(' ') ?? [];
  return { group: groupings.find((one) => one === group) ?? 'none', isCompact: density === 'compact' };
}

export function useDisplay(): [Display, (change: Partial<Display>) => void] {
  const key = keyOf(useUser().id);
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => localStorage.getItem(key),
  );
  const display = read(text);
  const set = (change: Partial<Display>) => {
    const { group, isCompact } = { ...display, ...change };
    localStorage.setItem(key, `${group} ${isCompact ? 'compact' : 'default'}`);
    for (const listener of listeners) listener();
  };
  return [display, set];
}
