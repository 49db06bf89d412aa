import { setTimeout as pause } from 'node:timers/promises';
import type { EventFeed, EventPlace, Logger, PlacedEvent } from '@tessera/service-kit';
import type { EventSignal } from './event-signal.ts';

interface EventTailOptions<Item> {
  feed: Pick<EventFeed, 'readAfter'>;
  signal: Pick<EventSignal, 'subscribe'>;
  /** Converts an event once for all receivers; undefined omits it. */
  present: (event: PlacedEvent) => Item | undefined;
  /** Called with each page, in order, one at a time. The next page is read afterwards. */
  deliver: (items: readonly Item[]) => Promise<void>;
  /** Called when the database was replaced, so events may be missing. The tail continues from its new end. */
  onReset: () => void;
  logger: Logger;
}

const pageSize = 200;
/** Number of events in memory, for receivers that resume. */
const keptMax = 1_000;
/** Limits of the time between two reads. Within them, it is three times that of the last delivery. */
const pauseMinMs = 100;
const pauseMaxMs = 250;
/** Minimum time between two reads while the feed has further pages, or a receiver waits. */
const hurryMs = 10;
/** How long the tail waits, after a signal, for the running transactions that hold back the feed. */
const heldBackMs = 2_000;

/**
 * Follows the end of the feed for all receivers of a process together: one read of the database serves all of them.
 * Keeps the latest events in memory.
 */
export class EventTail<Item extends { place: EventPlace }> {
  readonly #options: EventTailOptions<Item>;
  readonly #kept: Item[] = [];
  /** All events after this place and up to `#place` are kept. */
  #keptAfter: EventPlace | undefined;
  #place: EventPlace | undefined;
  readonly #unsubscribe: () => void;
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  #running: Promise<void> | undefined;
  #isSignalled = false;
  #isStopped = false;
  #readAt = 0;
  #pauseMs = pauseMinMs;
  /** Events of transactions before `tx` may have been committed; they are awaited until `until`. */
  #expected: { tx: bigint; until: number } | undefined;

  constructor(options: EventTailOptions<Item>) {
    this.#options = options;
    this.#unsubscribe = options.signal.subscribe(() => {
      this.#expected = undefined;
      this.#wake();
    });
  }

  /** Stops reading; resolves after the current delivery. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    await this.#running;
  }

  /** The end of the read events. Only after `catchUp`. */
  get place(): EventPlace {
    if (this.#place === undefined) throw new Error('the tail has not been read');
    return this.#place;
  }

  /** Resolves when all events that are deliverable now have been read. Rejects if they cannot be read. */
  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#wake();
    });
  }

  /** Returns the events after a place up to the end, or where the place is if not all of them are in memory. */
  since(place: EventPlace): Item[] | 'earlier' | 'elsewhere' {
    const { place: end } = this;
    if (this.#keptAfter === undefined || place.database !== end.database || isAfter(place, end))
      return 'elsewhere';
    if (isAfter(this.#keptAfter, place)) return 'earlier';
    const index = this.#kept.findIndex((item) => isAfter(item.place, place));
    return index < 0 ? [] : this.#kept.slice(index);
  }

  #wake(): void {
    this.#isSignalled = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (let isFull = false; (this.#isSignalled || isFull) && !this.#isStopped; ) {
      const wanted = isFull || this.#waiting.length > 0 ? hurryMs : this.#pauseMs;
      const wait = this.#readAt + wanted - performance.now();
      // In small steps, so that a new receiver does not wait for the whole pause.
      if (wait > 0) {
        await pause(Math.min(wait, hurryMs));
        continue;
      }
      this.#isSignalled = false;
      const waiting = this.#waiting.splice(0);
      try {
        isFull = await this.#read();
      } catch (err) {
        isFull = false;
        this.#options.logger.warn({ err }, 'could not read events for the streams');
        for (const { reject } of waiting) reject(err);
        // The next signal repeats the read.
        continue;
      }
      if (isFull) this.#waiting.unshift(...waiting);
      else for (const { resolve } of waiting) resolve();
    }
    this.#running = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the tail has stopped'));
  }

  /** Reads and delivers a page. Returns true if there may be a further one. */
  async #read(): Promise<boolean> {
    this.#readAt = performance.now();
    const { feed, present, deliver, onReset } = this.#options;
    const page = await feed.readAfter(this.#place, this.#place === undefined ? 0 : pageSize);
    if (this.#isStopped) return false;
    if (this.#place === undefined || page.isReset) {
      const wasRead = this.#place !== undefined;
      this.#kept.length = 0;
      this.#place = this.#keptAfter = page.horizon;
      if (wasRead) onReset();
      return false;
    }
    const isFull = page.events.length === pageSize;
    const last = page.events.at(-1);
    // No further event can appear before the horizon.
    this.#place = isFull && last !== undefined ? last.place : page.horizon;
    this.#awaitHeldBack(page.newest);
    const items = page.events.flatMap((event) => present(event) ?? []);
    if (items.length > 0) {
      this.#keep(items);
      const startedAt = performance.now();
      await deliver(items);
      const duration = performance.now() - startedAt;
      this.#pauseMs = Math.min(Math.max(pauseMinMs, 3 * duration), pauseMaxMs);
    }
    return isFull;
  }

  #keep(items: readonly Item[]): void {
    this.#kept.push(...items);
    const dropped = this.#kept.splice(0, Math.max(0, this.#kept.length - keptMax));
    this.#keptAfter = dropped.at(-1)?.place ?? this.#keptAfter;
  }

  // A signal came after the commit, but a transaction of another client may hold back the event at the first read.
  #awaitHeldBack(newest: bigint): void {
    this.#expected ??= { tx: newest, until: performance.now() + heldBackMs };
    const { tx, until } = this.#expected;
    if (this.place.tx < tx && performance.now() < until) this.#isSignalled = true;
  }
}

function isAfter(place: EventPlace, other: EventPlace): boolean {
  return place.tx === other.tx ? place.id > other.id : place.tx > other.tx;
}
