import type { EventFeedPage } from '@tessera/contracts';
import { type CallOptions, isTransient } from './transport.ts';
import { sleep } from './waiting.ts';

export interface EventOptions extends CallOptions {
  /** The `next` of an earlier page; `now` for the end of the feed. By default, the oldest kept event. */
  after?: string | undefined;
  /** Maximum number of events of a page, from 1 to 200 (default). */
  limit?: number;
  /** Time between two polls after the end of the feed was reached, in milliseconds; 2,000 by default. */
  intervalMs?: number;
}

interface FeedCall extends CallOptions {
  query: { after: string | undefined; limit: number };
}

/** Maximum delay of `setTimeout`. */
const timerMaxMs = 2 ** 31 - 1;

/** @throws RangeError for an interval that a timer does not support */
export function assertInterval(intervalMs: number): void {
  if (!(intervalMs > 0 && intervalMs <= timerMaxMs))
    throw new RangeError(`intervalMs must be above 0 and at most ${timerMaxMs}.`);
}

/** Iterates over the pages of a feed that have events or are a reset, and polls for further ones. */
export async function* followEvents<Event>(
  read: (call: FeedCall) => Promise<EventFeedPage<Event>>,
  { after, limit = 200, intervalMs = 2_000, ...options }: EventOptions,
): AsyncGenerator<EventFeedPage<Event>, void> {
  assertInterval(intervalMs);
  for (let isFirst = true; ; isFirst = false) {
    const page = await read({ query: { after, limit }, ...options }).catch((error: unknown) => {
      if (isFirst || !isTransient(error)) throw error;
    });
    if (page !== undefined) {
      after = page.next;
      if (page.events.length > 0 || page.reset) {
        yield page;
        options.signal?.throwIfAborted();
      }
    }
    if ((page?.events.length ?? 0) < limit) await sleep(intervalMs, options.signal);
  }
}
