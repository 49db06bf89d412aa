import { type listEvents, pageSizeMax } from '@tessera/contracts';
import type { EventFeed, Handler } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { presentEvent } from './event.presenter.ts';

/** Every active user may read every issue, so every one may read all events. */
export function eventHandlers({ events, urls }: { events: EventFeed; urls: IssueUrls }) {
  const list: Handler<typeof listEvents, Actor> = async ({ query: { after, limit = pageSizeMax } }) => {
    const page = await events.read(after, limit);
    const body = {
      events: page.events.flatMap((event) => presentEvent(event, urls) ?? []),
      next: page.next,
      reset: page.isReset,
    };
    return { status: 200, body };
  };

  return { list };
}
