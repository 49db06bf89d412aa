import { type listIdentityEvents, pageSizeMax } from '@tessera/contracts';
import type { EventFeed, Handler } from '@tessera/service-kit';
import { presentEvent } from './event.presenter.ts';

export function eventHandlers(events: EventFeed) {
  const list: Handler<typeof listIdentityEvents> = async ({
    query: { after, limit = pageSizeMax },
    request,
  }) => {
    const page = await events.read(after, limit);
    request.isIdle = page.events.length === 0;
    const body = {
      events: page.events.flatMap((event) => presentEvent(event) ?? []),
      next: page.next,
      reset: page.isReset,
    };
    return { status: 200, body };
  };

  return { list };
}
