import { useState, useSyncExternalStore } from 'react';

const phone = matchMedia('(max-width: 767px)');
const narrow = matchMedia('(max-width: 1023px)');

const useMedia = (query: MediaQueryList) =>
  useSyncExternalStore(
    (listener) => {
      query.addEventListener('change', listener);
      return () => query.removeEventListener('change', listener);
    },
    () => query.matches,
  );

/** A phone has a head and a sheet instead of the rail. */
export const useIsPhone = () => useMedia(phone);

/**
 * Whether the rail shows names or icons alone. Each person of the browser chooses; until then, a narrow screen has icons.
 * @returns the state, and a function that changes it
 */
export function useRail(personId: string): [isOpen: boolean, toggle: () => void] {
  const key = `tessera-rail-${personId}`;
  const isNarrow = useMedia(narrow);
  // Changed here, or read from the storage for another person.
  const [, render] = useState(0);
  const chosen = localStorage.getItem(key);
  const isOpen = chosen === null ? !isNarrow : chosen === 'open';
  const toggle = () => {
    localStorage.setItem(key, isOpen ? 'closed' : 'open');
    render((count) => count + 1);
  };
  return [isOpen, toggle];
}
