import { isDeepStrictEqual } from 'node:util';
import type { Logger, Metrics } from '@tessera/service-kit';
import type { EndedSessions, IdentityClient } from './identity-client.ts';
import type { IdentityMirrorService } from './identity-mirror.service.ts';
import type { MirrorBackfill } from './mirror-backfill.ts';
import type { MirrorFeedRepository } from './mirror-feed.repository.ts';

interface FeedDependencies {
  client: IdentityClient;
  mirror: IdentityMirrorService;
  repository: MirrorFeedRepository;
  backfill: Pick<MirrorBackfill, 'wake'>;
  keys: { refuse: (kids: readonly string[]) => void };
  sessions: { expireEnded: (ended: readonly EndedSessions[]) => Promise<void> };
  logger: Logger;
}

/** Longest time between two reads, over all replicas and without requests. */
const intervalSeconds = 1;
/** Shortest time between two reads by all replicas together. */
const pause = { pauseSeconds: 0.7 * intervalSeconds };
/** Time after which another process reads the same page, if this one was killed. */
const reading = { pauseSeconds: 2 };
/** Longest time between two reads while identity is down. */
const maxRetrySeconds = 3;

/**
 * Follows identity's feed of events: reads the changed identities and stores them in the mirror, expires the tokens of web
 * sessions that have ended, and then stores the cursor and the session epochs. A page whose cursor was not stored is read again. Runs in every
 * replica; one reads at a time, and all refuse the keys that identity has deleted. Without a cursor, or if identity has
 * deleted the events after it, starts at the end of the feed, and the backfill reads all identities.
 */
export class MirrorFeed {
  readonly #dependencies: FeedDependencies;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #failures = 0;

  constructor(dependencies: FeedDependencies) {
    this.#dependencies = dependencies;
  }

  /** Schedules the reads; the first one is within a second. */
  start(): void {
    this.#schedule(Math.random() * intervalSeconds);
  }

  /** Stops. Resolves after the current page. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Copies the changes up to the end of the feed, if it is this process's turn. */
  async run(): Promise<void> {
    const { client, mirror, repository, sessions, keys } = this.#dependencies;
    let { turn, deletedKeys } = await repository.takeTurn(reading);
    keys.refuse(deletedKeys);
    while (turn !== undefined && !this.#stopping.signal.aborted) {
      const { cursor } = turn;
      const page = await client.readEvents(cursor);
      const { next, isEnd } = page;
      if (!isDeepStrictEqual(page.deletedKeys, deletedKeys)) {
        deletedKeys = page.deletedKeys;
        keys.refuse(deletedKeys);
        await repository.storeDeletedKeys(deletedKeys);
      }
      if (cursor === null || page.isReset) return this.#restart(cursor, next);
      await mirror.refreshAll(page.identityIds);
      await sessions.expireEnded(page.endedSessions);
      const { endedSessions } = page;
      const wait = isEnd ? pause : reading;
      const isStored = await repository.advance(cursor, { next, isEnd, endedSessions, ...wait });
      turn = isStored && !isEnd ? { cursor: next } : undefined;
    }
  }

  async #restart(cursor: string | null, next: string): Promise<void> {
    const { repository, backfill, logger } = this.#dependencies;
    if (!(await repository.restart(cursor, { next, ...pause }))) return;
    logger.info("following identity's events from now on, and reading all identities");
    backfill.wake();
  }

  #schedule(seconds: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#runAndReschedule();
    }, seconds * 1000);
    this.#timer.unref();
  }

  async #runAndReschedule(): Promise<void> {
    const { logger } = this.#dependencies;
    try {
      await this.run();
      if (this.#failures > 0) logger.info("following identity's events again");
      this.#failures = 0;
    } catch (error) {
      if (this.#failures === 0) logger.warn({ err: error }, "could not read identity's events; retrying");
      this.#failures += 1;
    }
    const seconds = Math.min(maxRetrySeconds, intervalSeconds * 2 ** this.#failures);
    this.#schedule((this.#failures === 0 ? intervalSeconds : seconds) * (0.8 + Math.random() * 0.2));
  }
}

/** Exposes the time since the feed was last read to its end. Without a series before the first read. */
export function observeFeed(metrics: Metrics, repository: MirrorFeedRepository): void {
  const help = "Seconds since identity's events were last read to their end.";
  const gauge = metrics.gauge('issues_mirror_staleness_seconds', help, [], async () => {
    const staleness = await repository.findStaleness();
    if (staleness === undefined) gauge.remove({});
    else gauge.set({}, staleness);
  });
}
