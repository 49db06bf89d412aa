import type { IssueEvent, IssueEventType } from '@tessera/contracts';
import { call } from '../http/api.ts';
import { HttpError, latestPosition, lineOf, notePosition } from '../http/http.ts';
import { personOfPage } from '../sign-in/session-gate.ts';
import type { Connection } from './connection.ts';

/** `position`: the lists that are read because of the message have to see it. */
export type FeedMessage =
  | { kind: 'events'; events: readonly IssueEvent[]; cursor: string; position?: string }
  /** Events may be missing. */
  | { kind: 'reset'; cursor: string; position?: string }
  /** The number of unread notifications of the person. */
  | { kind: 'unread'; count: number }
  /** The person sees other projects than before. */
  | { kind: 'access' }
  | { kind: 'connection'; connection: Connection };

const hello = 'hello';
// With the time of a request, a change is shown within ten seconds.
const pollMs = 9_000;
// The service sends a heartbeat after 25 s without an event, so two are missing.
const silentMs = 55_000;
// EventSource calls listeners of named types only.
const types: Record<IssueEventType, true> = {
  'issue.created': true,
  'issue.updated': true,
  'issue.status_changed': true,
  'issue.commented': true,
  'comment.updated': true,
  'comment.deleted': true,
  'issue.link_added': true,
  'issue.link_removed': true,
  'issue.synced': true,
  'issue.sync_conflict': true,
  'issue.due': true,
};
export const eventTypes = Object.keys(types) as IssueEventType[];

/**
 * Follows the events of all issues after a cursor; null for the end of the feed. One tab of the browser, which holds a lock, reads them and tells the others:
 * a browser has few connections to a server, and the service limits the streams of an identity.
 * @returns a function that ends it
 */
export function followEvents(after: string | null, listener: (message: FeedMessage) => void): () => void {
  const stopping = new AbortController();
  // Of the tabs of one person: a tab of another has its own session.
  const name = `tessera-events-${personOfPage()}`;
  const channel = new BroadcastChannel(name);
  let cursor = after ?? 'now';
  let connection: Connection | undefined;
  let unread: number | undefined;
  let isLeader = false;
  const take = (message: FeedMessage) => {
    if (message.kind === 'connection') connection = message.connection;
    else if (message.kind === 'unread') unread = message.count;
    else if (message.kind !== 'access') {
      cursor = message.cursor;
      notePosition(message.position);
    }
    listener(message);
  };
  const tell = (message: FeedMessage) => {
    if (stopping.signal.aborted) return;
    take(message);
    channel.postMessage(message.kind === 'connection' ? message : { ...message, position: latestPosition() });
  };
  channel.addEventListener('message', ({ data }: MessageEvent<FeedMessage | typeof hello>) => {
    if (data !== hello) return take(data);
    if (!isLeader || connection === undefined) return;
    // The new tab continues from here if this one is closed.
    channel.postMessage({ kind: 'events', events: [], cursor, position: latestPosition() });
    channel.postMessage({ kind: 'connection', connection });
    if (unread !== undefined) channel.postMessage({ kind: 'unread', count: unread });
  });
  channel.postMessage(hello);
  navigator.locks
    .request(name, { signal: stopping.signal }, () => {
      isLeader = true;
      return readEvents(() => cursor, tell, stopping.signal);
    })
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    });
  return () => {
    stopping.abort();
    channel.close();
  };
}

/** Reads the stream, and the feed while the stream fails. */
async function readEvents(
  cursorNow: () => string,
  tell: (message: FeedMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  // The stream does not tell its position before the first event.
  if (cursorNow() === 'now') await poll('now', tell, signal);
  let heardAt = Date.now();
  const open = () => {
    heardAt = Date.now();
    return openStream(cursorNow(), tell, () => {
      heardAt = Date.now();
    });
  };
  let stream = open();
  const goOffline = () => {
    stream.close();
    tell({ kind: 'connection', connection: 'offline' });
  };
  window.addEventListener('offline', goOffline, { signal });
  let pollAt = Date.now() + pollMs;
  let isFailing = false;
  while (!signal.aborted) {
    const isOnlineAgain = await failureOf(stream, pollAt - Date.now(), signal);
    // A connection that was lost without notice stays open.
    if (Date.now() - heardAt >= silentMs) stream.close();
    const isOpen = stream.readyState === EventSource.OPEN;
    const isDue = isOnlineAgain || !isFailing || Date.now() >= pollAt;
    isFailing = !isOpen;
    if (!isOpen && !isDue) continue;
    pollAt = Date.now() + pollMs;
    if (isOpen || signal.aborted) continue;
    await poll(cursorNow(), tell, signal);
    // A browser reconnects only after a lost connection, not after a refusal.
    if (stream.readyState === EventSource.CLOSED) stream = open();
  }
  stream.close();
}

function openStream(cursor: string, tell: (message: FeedMessage) => void, onHeard: () => void): EventSource {
  // EventSource sends no header, so the query names the person.
  const query = { user: personOfPage(), notifications: true, ...(cursor !== 'now' && { after: cursor }) };
  const stream = new EventSource(lineOf('streamEvents', { query }).url);
  for (const type of ['open', 'heartbeat', 'reset', 'notifications', 'access.changed', ...eventTypes])
    stream.addEventListener(type, onHeard);
  stream.addEventListener('position', ({ data }: MessageEvent<string>) =>
    notePosition((JSON.parse(data) as { position: string }).position),
  );
  stream.addEventListener('open', () => tell({ kind: 'connection', connection: 'live' }));
  for (const type of eventTypes)
    stream.addEventListener(type, ({ data, lastEventId }: MessageEvent<string>) =>
      tell({ kind: 'events', events: [JSON.parse(data) as IssueEvent], cursor: lastEventId }),
    );
  stream.addEventListener('notifications', ({ data }: MessageEvent<string>) =>
    tell({ kind: 'unread', count: (JSON.parse(data) as { unread_count: number }).unread_count }),
  );
  stream.addEventListener('access.changed', () => tell({ kind: 'access' }));
  stream.addEventListener('reset', ({ data }: MessageEvent<string>) =>
    tell({ kind: 'reset', cursor: (JSON.parse(data) as { next: string }).next }),
  );
  return stream;
}

/** Resolves at a failure of the stream, after a time, and with true when the browser is online again. */
function failureOf(stream: EventSource, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const ended = new AbortController();
    const end = (isOnlineAgain: boolean) => {
      clearTimeout(timer);
      ended.abort();
      resolve(isOnlineAgain);
    };
    const timer = setTimeout(() => end(false), milliseconds);
    const options = { signal: ended.signal };
    stream.addEventListener('error', () => end(false), options);
    signal.addEventListener('abort', () => end(false), options);
    window.addEventListener('online', () => end(true), options);
  });
}

async function poll(
  cursor: string,
  tell: (message: FeedMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    let hasMore = true;
    for (let after = cursor; hasMore; ) {
      const query = { after, limit: 200 };
      const { events, next, reset } = await call('listEvents', { query, signal });
      tell(reset ? { kind: 'reset', cursor: next } : { kind: 'events', events, cursor: next });
      after = next;
      hasMore = events.length === query.limit;
    }
    tell({ kind: 'connection', connection: 'polling' });
  } catch (error) {
    if (signal.aborted) return;
    const isOffline = error instanceof HttpError && error.isTransient;
    tell({ kind: 'connection', connection: isOffline ? 'offline' : 'polling' });
    // If the feed refuses, everything that is shown is read again.
    if (!isOffline) tell({ kind: 'reset', cursor: 'now' });
  }
}
