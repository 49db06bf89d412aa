import { type listEvents, pageSizeMax, type streamEvents } from '@tessera/contracts';
import {
  type EventFeed,
  feedEnd,
  type Handler,
  parseEventCursor,
  type StoredEvent,
} from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueName, IssueUrls } from '../issue-core/issue-reference.ts';
import { parseIssueReference } from '../issue-core/issue-reference.ts';
import { type ReadScope, unseenEvents } from '../issue-core/project-access.ts';
import { presentEvent, projectOf } from './event.presenter.ts';
import type { EventStreams } from './event-streams.ts';

interface EventHandlersOptions {
  events: EventFeed;
  eventStreams: Pick<EventStreams, 'open'>;
  urls: IssueUrls;
  projects: { withKnownKeys(names: readonly IssueName[], scope: ReadScope): Promise<IssueName[]> };
}

/** Maximum number of events that a request looks at, if the caller does not see those of all projects. */
const lookedMax = 5_000;

/** Handlers of events. A caller gets those of projects of which they see all issues. */
export function eventHandlers({ events, eventStreams, urls, projects }: EventHandlersOptions) {
  const list: Handler<typeof listEvents, Actor> = async ({
    query: { after, limit = pageSizeMax },
    actor,
    request,
  }) => {
    const page = await readSeen(actor, after, limit);
    request.isIdle = page.events.length === 0;
    const body = {
      events: page.events.flatMap((event) => presentEvent(event, urls) ?? []),
      next: page.next,
      reset: page.isReset,
      ...(page.more ? { more: true as const } : {}),
    };
    return { status: 200, body };
  };

  // Reads on until the page is full, the feed ends, or so many events were looked at that others would wait.
  const readSeen = async (actor: Actor, after: string | undefined, limit: number) => {
    const unseen = unseenEvents(actor.access.scope);
    const seen: StoredEvent[] = [];
    let [next, looked] = [after, 0];
    for (;;) {
      const asked = limit - seen.length;
      const page = await events.read(next, asked);
      seen.push(...page.events.filter((event) => !unseen.has(projectOf(event))));
      looked += page.events.length;
      next = page.next;
      const isAll = page.events.length < asked || seen.length === limit;
      if (isAll || looked >= lookedMax) return { ...page, events: seen, more: !isAll };
    }
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
    const issues = named && (await projects.withKnownKeys(named, actor.access.scope));
    const answer = { status: 200, headers: streamHeaders } as const;
    if (request.method === 'HEAD') return { ...answer, stream: () => undefined };
    const start = await eventStreams.open({
      response,
      owner: {
        identityId: actor.id,
        isStaff: actor.isStaff || actor.isSuperuser,
        sessionKey: actor.sessionKey,
        sessionEpoch: actor.sessionEpoch,
      },
      access: actor.access,
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
