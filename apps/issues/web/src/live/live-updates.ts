import type { QueryClient } from '@tanstack/react-query';
import type { IssueEvent, Label, Relation } from '@tessera/contracts';
import { type IssueQuery, type IssueRow, listIssues } from '../http/api.ts';
import { patchRows, rowsOf, shownLists } from '../http/issue-rows.ts';
import { isRepeated, labelsQuery, refreshIssue, sessionQuery } from '../http/queries.ts';
import { setUnread } from '../http/unread.ts';
import { isDone } from '../people/due-date.tsx';
import { type Connection, newIssuesKey, setConnection } from './connection.ts';
import { followEvents } from './event-feed.ts';
import { forgetHidden, forgetMissing, lookAtAccess, readAll } from './hidden-issues.ts';

// Events of one change arrive together, and the changes of an import follow each other closely.
const gatherMs = 150;
// Shortest time between two reads. Otherwise the reads of all browsers grow with the square of the number of users.
const pauseMs = 2_000;
// The largest number of ids of one request.
const maxKeys = 100;
// Of more issues than these, everything that is shown is read again.
const maxChanged = 5 * maxKeys;

/**
 * Shows the changes of other people on every page. A page in the background waits until it is shown.
 * @returns a function that ends it
 */
export function startLiveUpdates(client: QueryClient): () => void {
  const changed = new Set<string>();
  const ended = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = () => {
    timer = undefined;
    readAt = performance.now();
    if (changed.size > maxChanged) void readAll(client);
    else refresh(client, [...changed]);
    changed.clear();
  };
  const schedule = () => {
    if (changed.size === 0 || document.hidden) return;
    timer ??= setTimeout(read, Math.max(gatherMs, readAt + pauseMs - performance.now()));
  };
  document.addEventListener('visibilitychange', schedule, { signal: ended.signal });
  const gather = (events: readonly IssueEvent[]) => {
    for (const { data } of events) if (changed.size <= maxChanged) changed.add(data.issue_key);
    for (const event of events)
      if (event.type === 'issue.status_changed')
        for (const key of waitingFor(client, event.data)) changed.add(key);
    // A moved issue is shown under another key.
    if (events.some(({ data }) => 'changed' in data && data.changed.includes('project')))
      void readAll(client);
    schedule();
  };
  // The session was read before the data of the page, so no change is missed between both.
  const after = client.getQueryData(sessionQuery.queryKey)?.events_cursor ?? null;
  const stopForgetting = forgetMissing(client);
  const stopLabels = followLabels(client);
  let connection: Connection | undefined;
  const stop = followEvents(after, (message) => {
    if (message.kind === 'connection') {
      const wasAway = connection === 'offline' || connection === 'polling';
      connection = message.connection;
      connect(client, connection);
      if (wasAway && connection === 'live') lookAtAccess(client).catch(() => undefined);
    } else if (message.kind === 'access') forgetHidden(client).catch(() => undefined);
    else if (message.kind === 'unread') {
      setUnread(client, message.count);
      refreshInbox(client);
    } else if (message.kind === 'events') gather(message.events);
    else void readAll(client);
  });
  return () => {
    clearTimeout(timer);
    ended.abort();
    stopForgetting();
    stopLabels();
    stop();
  };
}

/** A label that has another name or colour, or is gone, is shown so on all issues. */
function followLabels(client: QueryClient): () => void {
  const { queryKey } = labelsQuery;
  let known = client.getQueryData(queryKey);
  return client.getQueryCache().subscribe(() => {
    const [before, now] = [known, client.getQueryData(queryKey)];
    known = now;
    // A reader keeps the same array while nothing has changed.
    if (before === undefined || now === undefined || before === now) return;
    const isSame = (label: Label) =>
      now.some(({ id, name, color }) => id === label.id && name === label.name && color === label.color);
    if (!before.every(isSame)) void readAll(client);
  });
}

/** The shown issues whose mark a change of status may change: the blocked ones, and any if the other issue is open again. */
const waitingFor = (client: QueryClient, { to }: { to: IssueRow['status'] }) =>
  shownLists(client)
    .flatMap((queryKey) => rowsOf(client, queryKey))
    .filter((row) => (isDone({ status: to }) ? row.is_blocked === true : to === 'REOPENED'))
    .map(({ key }) => key);

const refreshInbox = (client: QueryClient) =>
  void client.invalidateQueries({ queryKey: ['notifications'], predicate: (query) => isRepeated(query) });

function connect(client: QueryClient, connection: Connection): void {
  setConnection(connection);
  if (connection !== 'polling') return;
  // No stream says what is unread.
  void client.invalidateQueries({ queryKey: ['unread'] });
  refreshInbox(client);
}

function refresh(client: QueryClient, changed: readonly string[]): void {
  for (const key of changed) void refreshIssue(client, key);
  void client.invalidateQueries({ queryKey: ['counts'] });
  // An issue shows the titles and statuses of those that are related to it.
  void client.invalidateQueries({
    queryKey: ['relations'],
    predicate: ({ state }) =>
      (state.data as Relation[] | undefined)?.some(({ issue }) => changed.includes(issue.key)) === true,
  });
  for (let begin = 0; begin < changed.length; begin += maxKeys)
    for (const queryKey of shownLists(client))
      refreshList(client, queryKey, changed.slice(begin, begin + maxKeys)).catch(() =>
        client.invalidateQueries({ queryKey, refetchType: 'none' }),
      );
}

/** Changes the rows of a list where they are, and counts the issues that it does not contain yet. */
async function refreshList(
  client: QueryClient,
  queryKey: readonly unknown[],
  keys: readonly string[],
): Promise<void> {
  const query = queryKey[1] as IssueQuery;
  const { signal } = new AbortController();
  const isShown = (key: string) => rowsOf(client, queryKey).some((row) => row.key === key);
  const [matching, shown] = await Promise.all([
    listIssues({ ...query, id: keys }, undefined, signal),
    keys.some(isShown) ? listIssues({ id: keys.filter(isShown) }, undefined, signal) : { items: [] },
  ]);
  const fresh = new Map([...shown.items, ...matching.items].map((issue) => [issue.key, issue]));
  patchRows(client, queryKey, (row) => newer(row, fresh.get(row.key)));
  client.setQueryData<string[]>(newIssuesKey(query), (known = []) =>
    [...new Set([...known, ...matching.items.map(({ key }) => key)])].filter((key) => !isShown(key)),
  );
}

const newer = (row: IssueRow, fresh: IssueRow | undefined) =>
  fresh !== undefined && fresh.updated_at >= row.updated_at ? fresh : row;
