import { useSyncExternalStore } from 'react';

/** `live`: events arrive at once; `polling`: about every ten seconds; `offline`: the server cannot be reached. */
export type Connection = 'live' | 'polling' | 'offline';

interface LiveState {
  connection: Connection | undefined;
  /** The time of the latest contact before the connection was lost, in milliseconds. */
  lastContact: number;
}

let state: LiveState = { connection: undefined, lastContact: Date.now() };
const listeners = new Set<() => void>();

export function setConnection(connection: Connection): void {
  state = { connection, lastContact: connection === 'offline' ? state.lastContact : Date.now() };
  for (const listener of listeners) listener();
}

export const useConnection = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );

/** The keys of issues that match a list and that it does not show yet. */
export const newIssuesKey = (query: object) => ['new-issues', query];
