import type { EventFeed, EventPlace, PlacedEventPage, StandbyReads } from '@tessera/service-kit';

/**
 * A feed for lists from a standby: after each read with events, it notes a position of the database that has them. A client gets
 * it before the events, because it reads the changed issues again, and no further event comes if that finds an older state.
 */
export class PositionedFeed {
  readonly #feed: Pick<EventFeed, 'readAfter'>;
  readonly #database: Pick<StandbyReads, 'position'>;
  #position: string | undefined;

  constructor(feed: Pick<EventFeed, 'readAfter'>, database: Pick<StandbyReads, 'position'>) {
    this.#feed = feed;
    this.#database = database;
  }

  get position(): string | undefined {
    return this.#position;
  }

  async readAfter(place: EventPlace | undefined, limit: number): Promise<PlacedEventPage> {
    const page = await this.#feed.readAfter(place, limit);
    const isFirst = this.#position === undefined;
    if (isFirst || page.isReset || page.events.length > 0) this.#position = await this.#database.position();
    return page;
  }
}
