import { type listIdentityEvents, pageSizeMax } from '@tessera/contracts';
import type { EventFeed, Handler } from '@tessera/service-kit';
import { presentEvent } from './event.presenter.ts';

/** `deletedKeys`: the ids of the deleted signing keys. The feed has them, because its readers ask every second. */
export function eventHandlers(events: EventFeed, deletedKeys: string[]) {
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
      deleted_keys: deletedKeys,
    };
    return { status: 200, body };
  };

  return { list };
}
