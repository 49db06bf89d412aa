import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Metrics } from '@tessera/service-kit';
import type { IdentityClient } from './identity-client.ts';
import type { IdentityMirrorService } from './identity-mirror.service.ts';
import type { BackfillLease, MirrorBackfillRepository } from './mirror-backfill.repository.ts';

/** The ids that identity listed after an id, and the time of the request. */
export interface MirrorSnapshot {
  after: string | null;
  listed: readonly string[];
}

interface BackfillDependencies {
  client: IdentityClient;
  mirror: IdentityMirrorService;
  repository: MirrorBackfillRepository;
  logger: Logger;
}

interface BackfillOptions {
  /**
   * Time between two polls by all replicas together, in seconds: for new identities, or for a pass while identity's events
   * are followed.
   */
  intervalSeconds: number;
  /** Minimum time between two requests to identity, in milliseconds. */
  pauseMs?: number;
}

const pageSize = 200;
const leaseSeconds = 60;
/**
 * Interval in which all identities are compared. Finds changes without an event, and confirms the rows that are used while
 * identity is down.
 */
const passSeconds = 6 * 3_600;
/** Time after which no identity with a smaller id can be committed any more. */
const settleMs = 60_000;

/**
 * Copies all identities into the mirror, so that people are found before their first request. Runs in every replica; a
 * lease lets one replica work at a time, and the next replica continues at the same position. Periodically compares all
 * identities again. While identity's events are not followed, polls for new identities at intervals.
 */
export class MirrorBackfill {
  readonly #dependencies: BackfillDependencies;
  readonly #options: Required<BackfillOptions>;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isWoken = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(dependencies: BackfillDependencies, options: BackfillOptions) {
    this.#dependencies = dependencies;
    this.#options = { pauseMs: 50, ...options };
  }

  /** Schedules the runs; the first one starts within seconds. */
  start(): void {
    this.#schedule(Math.random() * Math.min(this.#options.intervalSeconds, 5));
  }

  /** Schedules a run at once; during a run, after it. */
  wake(): void {
    this.#isWoken = true;
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#schedule(0);
  }

  /** Stops the backfill. Resolves after the current page. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Copies identities until the end of the list. Returns their number; undefined without the lease. */
  async run(): Promise<number | undefined> {
    const { repository } = this.#dependencies;
    const lease = await repository.lease(leaseSeconds, passSeconds);
    if (lease === undefined) return undefined;
    try {
      const copied = await this.#copy(lease);
      await (this.#stopping.signal.aborted
        ? repository.release(lease)
        : repository.finish(lease, this.#options.intervalSeconds));
      return copied;
    } catch (error) {
      // Another replica may reach identity. This one waits for its next run.
      await repository.release(lease);
      throw error;
    }
  }

  #schedule(seconds: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#runAndReschedule();
    }, seconds * 1000);
    this.#timer.unref();
  }

  async #runAndReschedule(): Promise<void> {
    this.#timer = undefined;
    this.#isWoken = false;
    try {
      await this.run();
    } catch (error) {
      this.#dependencies.logger.warn({ err: error }, 'could not copy identities into the mirror');
    }
    this.#schedule(this.#isWoken ? 0 : this.#options.intervalSeconds * (0.9 + Math.random() * 0.2));
  }

  async #copy(lease: BackfillLease): Promise<number> {
    const { client, mirror, repository } = this.#dependencies;
    const { signal } = this.#stopping;
    let { after } = lease;
    let settled = after;
    let copied = 0;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const { identities, ...observation } = await client.list({ after, limit: pageSize });
      await mirror.upsertFromList(identities, observation);
      const listed = identities.map(({ id }) => id);
      await this.#lookUpUnlisted({ after, listed });
      const last = listed.at(-1);
      if (last === undefined) return copied;
      after = last;
      copied += listed.length;
      const settledUntil = observation.askedAt.getTime() - settleMs;
      settled = identities.findLast(({ created_at }) => Date.parse(created_at) < settledUntil)?.id ?? settled;
      if (!(await repository.advance(lease, settled, leaseSeconds))) return copied;
      // Requests of this process use at most a fifth of identity's time.
      const pauseMs = Math.max(this.#options.pauseMs, 4 * (performance.now() - startedAt));
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    return copied;
  }

  // A lookup by id determines whether an identity was deleted, because its absence from a page is no proof.
  async #lookUpUnlisted({ after, listed }: MirrorSnapshot): Promise<void> {
    const { mirror, repository } = this.#dependencies;
    let ids: string[];
    do {
      ids = await repository.findUnlisted({ after, listed }, pageSize);
      for (const id of ids) {
        if (this.#stopping.signal.aborted) return;
        await mirror.refresh(id);
      }
      after = ids.at(-1) ?? after;
    } while (ids.length === pageSize);
  }
}

/** Exposes the time since the last complete comparison of the mirror. */
export function observeBackfill(metrics: Metrics, repository: MirrorBackfillRepository): void {
  const help = 'Seconds since all identities were last compared with the mirror.';
  const gauge = metrics.gauge('issues_mirror_age_seconds', help, [], async () => {
    gauge.set({}, await repository.findAge());
  });
}
