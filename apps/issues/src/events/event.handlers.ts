import { type listEvents, pageSizeMax, type streamEvents } from '@tessera/contracts';
import { type EventFeed, feedEnd, type Handler, parseEventCursor } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference, IssueUrls } from '../issue-core/issue-reference.ts';
import { parseIssueReference } from '../issue-core/issue-reference.ts';
import { presentEvent } from './event.presenter.ts';
import type { EventStreams } from './event-streams.ts';

interface EventHandlersOptions {
  events: EventFeed;
  eventStreams: Pick<EventStreams, 'open'>;
  urls: IssueUrls;
  projects: { knownKeys(keys: readonly string[]): Promise<ReadonlySet<string>> };
}

/** Every active user may read every issue, so every one may read all events. */
export function eventHandlers({ events, eventStreams, urls, projects }: EventHandlersOptions) {
  // A key with a prefix that no project has or had matches no issue.
  const onlyKnown = async (references: readonly IssueReference[]) => {
    const prefixes = references.flatMap((one) => ('number' in one ? (one.prefix ?? []) : []));
    const known = await projects.knownKeys(prefixes);
    return references.filter((one) => 'id' in one || one.prefix === undefined || known.has(one.prefix));
  };

  const list: Handler<typeof listEvents, Actor> = async ({
    query: { after, limit = pageSizeMax },
    request,
  }) => {
    const page = await events.read(after, limit);
    request.isIdle = page.events.length === 0;
    const body = {
      events: page.events.flatMap((event) => presentEvent(event, urls) ?? []),
      next: page.next,
      reset: page.isReset,
    };
    return { status: 200, body };
  };

  const stream: Handler<typeof streamEvents, Actor> = async ({
    query,
    headers,
    actor,
    request,
    response,
  }) => {
    const after = readCursor(headers['Last-Event-ID'], query.after);
    const named = query.issue?.map((text) => parseIssueReference(text, urls.keyPrefix, 'issue'));
    const issues = named && (await onlyKnown(named));
    const answer = { status: 200, headers: streamHeaders } as const;
    if (request.method === 'HEAD') return { ...answer, stream: () => undefined };
    const start = await eventStreams.open({
      response,
      owner: { identityId: actor.id, sessionKey: actor.sessionKey, sessionEpoch: actor.sessionEpoch },
      tokenExpiresAt: actor.tokenExpiresAt,
      after,
      filter: { issues, types: query.types },
      hasUnreadCount: query.notifications === true,
    });
    return { ...answer, stream: start };
  };

  return { list, stream };
}

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // nginx forwards the response without buffering.
  'X-Accel-Buffering': 'no',
};

// Browsers send the header when they reconnect; the URL still has its first `after`. An empty header means no event.
function readCursor(lastEventId: string | undefined, after: string | undefined) {
  const [cursor, field] = lastEventId ? [lastEventId, 'Last-Event-ID'] : [after, 'after'];
  return cursor === undefined || cursor === feedEnd ? undefined : parseEventCursor(cursor, field);
}
