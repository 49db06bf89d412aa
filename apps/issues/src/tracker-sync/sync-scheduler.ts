import type { Logger } from '@tessera/service-kit';
import type { SyncRepository } from './sync.repository.ts';
import { claimSeconds } from './sync.service.ts';
import type { SyncDueRepository } from './sync-due.repository.ts';
import type { Syncer } from './syncer.ts';

interface SyncSchedulerDependencies {
  repository: SyncRepository;
  due: SyncDueRepository;
  syncer: Syncer;
  logger: Logger;
}

export interface SyncSchedule {
  /** Between two looks for what is due, in milliseconds. */
  pollMs: number;
  /** Syncs at the same time in this process, at most. */
  workers: number;
  /** Bound on one sync that nobody waits for, in milliseconds. */
  timeoutMs: number;
  /** Whether changes here are synced without anybody asking: never, of issues that are in the tracker, or of all. */
  autoSync: 'off' | 'linked' | 'all';
}

/**
 * Syncs that nobody waits for: failed ones that are due again, those whose process died, and, where it is wanted,
 * changes. Any number of replicas may do so: each issue is claimed by one.
 */
export class SyncScheduler {
  readonly #dependencies: SyncSchedulerDependencies;
  readonly #schedule: SyncSchedule;
  readonly #working = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #changesSeenAt: Date | undefined;

  constructor(dependencies: SyncSchedulerDependencies, schedule: SyncSchedule) {
    this.#dependencies = dependencies;
    this.#schedule = schedule;
  }

  start(): void {
    this.#plan();
  }

  /** Claims nothing any more, and waits until what runs has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#dependencies.syncer.stop();
    await Promise.allSettled(this.#working);
  }

  // With jitter, so that replicas which started together do not look together.
  #plan(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => void this.#look(), this.#schedule.pollMs * (0.75 + Math.random() / 2));
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      await this.#scheduleChanges();
    } catch (error) {
      this.#dependencies.logger.warn({ err: error }, 'could not look for changes to sync');
    }
    while (!this.#isStopping && this.#working.size < this.#schedule.workers) {
      const work: Promise<void> = this.#work().finally(() => this.#working.delete(work));
      this.#working.add(work);
    }
    this.#plan();
  }

  // Goes on as long as anything is due.
  async #work(): Promise<void> {
    const { repository, syncer, logger } = this.#dependencies;
    const { timeoutMs } = this.#schedule;
    try {
      while (!this.#isStopping) {
        const link = await repository.claimDue(claimSeconds(timeoutMs));
        if (link === undefined) return;
        await syncer.sync(link, `sync-${link.claimId}`, timeoutMs);
      }
    } catch (error) {
      logger.warn({ err: error }, 'a background sync was cut off');
    }
  }

  async #scheduleChanges(): Promise<void> {
    const { autoSync: which, timeoutMs } = this.#schedule;
    if (which === 'off') return;
    const graceSeconds = 2 * claimSeconds(timeoutMs);
    const { due } = this.#dependencies;
    this.#changesSeenAt = await due.scheduleChanges(this.#changesSeenAt, { which, graceSeconds });
  }
}
