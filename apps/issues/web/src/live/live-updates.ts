import { type InfiniteData, type QueryClient, useQueryClient } from '@tanstack/react-query';
import type { Issue, IssueEvent } from '@tessera/contracts';
import { useEffect, useSyncExternalStore } from 'react';
import { type ListedIssue, listIssues, type Page } from '../http/api.ts';
import { issueQuery, sessionQuery } from '../http/queries.ts';
import { type Connection, followEvents } from './event-feed.ts';

type Pages = InfiniteData<Page<ListedIssue>, unknown>;

interface LiveState {
  connection: Connection | undefined;
  /** The time of the latest contact before the connection was lost, in milliseconds. */
  lastContact: number;
}

let state: LiveState = { connection: undefined, lastContact: Date.now() };
const listeners = new Set<() => void>();

function setConnection(connection: Connection): void {
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

// Events of one change arrive together, and the changes of an import follow each other closely.
const gatherMs = 150;
// The largest number of ids of one request.
const maxKeys = 100;

// Comments and syncs leave the version as it is.
const always = Number.POSITIVE_INFINITY;
const versionOf = ({ type, data }: IssueEvent) =>
  type === 'issue.updated' || type === 'issue.status_changed' ? data.version : always;

/** Shows the changes of other people on every page. */
export function useLiveUpdates(): void {
  const client = useQueryClient();
  useEffect(() => {
    const changed = new Map<string, number>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const gather = (events: readonly IssueEvent[]) => {
      for (const event of events) {
        const { issue_key: key } = event.data;
        changed.set(key, Math.max(changed.get(key) ?? 0, versionOf(event)));
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        refresh(client, new Map(changed));
        changed.clear();
      }, gatherMs);
    };
    const stop = followEvents((message) => {
      if (message.kind === 'connection') setConnection(message.connection);
      else if (message.kind === 'events') gather(message.events);
      else
        void client.invalidateQueries({
          predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0],
        });
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [client]);
}

function refresh(client: QueryClient, changed: ReadonlyMap<string, number>): void {
  for (const [key, version] of changed) {
    const shown = client.getQueryData<Issue>(issueQuery(key).queryKey);
    // The user's own change is shown already.
    if (shown !== undefined && shown.version >= version) continue;
    void client.invalidateQueries({ queryKey: issueQuery(key).queryKey });
    void client.invalidateQueries({ queryKey: ['comments', key] });
    void client.invalidateQueries({ queryKey: ['activity', key] });
  }
  const keys = [...changed.keys()].slice(-maxKeys);
  // A list that cannot be read now is read again later, as a whole.
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: ['issues'], type: 'active' }))
    refreshList(client, queryKey, keys).catch(() =>
      client.invalidateQueries({ queryKey, refetchType: 'none' }),
    );
}

/** Changes the rows of a list where they are, and counts the issues that it does not contain yet. */
async function refreshList(client: QueryClient, queryKey: readonly unknown[], keys: string[]): Promise<void> {
  const query = queryKey[1] as Parameters<typeof listIssues>[0];
  const { signal } = new AbortController();
  const rowsOf = () => client.getQueryData<Pages>(queryKey)?.pages.flatMap(({ items }) => items) ?? [];
  const isShown = (key: string) => rowsOf().some((row) => row.key === key);
  const [matching, shown] = await Promise.all([
    listIssues({ ...query, id: keys }, undefined, signal),
    keys.some(isShown) ? listIssues({ id: keys.filter(isShown) }, undefined, signal) : { items: [] },
  ]);
  const fresh = new Map([...shown.items, ...matching.items].map((issue) => [issue.key, issue]));
  client.setQueryData<Pages>(
    queryKey,
    (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({
          ...page,
          items: page.items.map((row) => newer(row, fresh.get(row.key))),
        })),
      },
  );
  client.setQueryData<string[]>(newIssuesKey(query), (known = []) =>
    [...new Set([...known, ...matching.items.map(({ key }) => key)])].filter((key) => !isShown(key)),
  );
}

const newer = (row: ListedIssue, fresh: ListedIssue | undefined) =>
  fresh !== undefined && fresh.updated_at >= row.updated_at ? fresh : row;
