import type { Logger } from '@tessera/service-kit';
import { type EventSignal, EventWorker } from './event-signal.ts';
import type { EventStream } from './event-stream.ts';
import { unreadText } from './streamed-event.ts';

/** What is known of the notifications of a person: a text that changes with them. */
interface KnownNotifications {
  identityId: string;
  known: string | undefined;
}

/** Finds those of some people whose notifications are not as known. */
export type FindChangedNotifications = (
  people: readonly KnownNotifications[],
) => Promise<{ identityId: string; known: string; unreadCount: number }[]>;

interface UnreadCountsOptions {
  signal: Pick<EventSignal, 'subscribe'>;
  findChanged: FindChangedNotifications;
  logger: Logger;
}

interface Person {
  streams: Set<EventStream>;
  known?: string;
  text?: string;
}

/** Time between two reads, in milliseconds. */
const pauseMs = 200;

/** Tells streams how many notifications of their person are unread, at the start and after changes. One statement reads for all. */
export class UnreadCounts {
  readonly #options: UnreadCountsOptions;
  readonly #people = new Map<string, Person>();
  #worker: EventWorker | undefined;

  constructor(options: UnreadCountsOptions) {
    this.#options = options;
  }

  follow(stream: EventStream): void {
    const { identityId } = stream.owner;
    const person = this.#people.get(identityId) ?? { streams: new Set() };
    person.streams.add(stream);
    this.#people.set(identityId, person);
    if (person.text !== undefined) stream.send(person.text);
    if (this.#worker === undefined) this.#start();
    else this.#worker.wake();
  }

  unfollow(stream: EventStream): void {
    const { identityId } = stream.owner;
    const streams = this.#people.get(identityId)?.streams;
    streams?.delete(stream);
    if (streams?.size === 0) this.#people.delete(identityId);
    if (this.#people.size === 0) void this.stop();
  }

  /** Reads the number of a person again, who sees other issues than before. */
  repeat(identityId: string | null): void {
    const person = this.#people.get(identityId ?? '');
    if (person === undefined) return;
    delete person.known;
    this.#worker?.wake();
  }

  /** Resolves after the current read. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
  }

  #start(): void {
    const { signal, logger } = this.#options;
    const run = () => this.#send();
    this.#worker = new EventWorker({ name: 'unread counts', signal, run, pauseMs, logger });
    this.#worker.start();
  }

  async #send(): Promise<boolean> {
    const asked = [...this.#people].map(([identityId, { known }]) => ({ identityId, known }));
    const changed = asked.length === 0 ? [] : await this.#options.findChanged(asked);
    for (const { identityId, known, unreadCount } of changed) {
      const person = this.#people.get(identityId);
      if (person === undefined) continue;
      const text = unreadText(unreadCount);
      Object.assign(person, { known, text });
      for (const stream of person.streams) stream.send(text);
    }
    return false;
  }
}
