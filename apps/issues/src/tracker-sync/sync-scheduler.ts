import { abortAfter, type Logger } from '@tessera/service-kit';
import {
  type ExternalTracker,
  type ListPosition,
  newestOf,
  positionAfter,
} from '../trackers/external-tracker.ts';
import type { ImportService } from './import.service.ts';
import type { SyncExecutor } from './sync-issue.ts';
import type { SyncQueueRepository } from './sync-queue.repository.ts';

interface SyncSchedulerDependencies {
  tracker: Pick<ExternalTracker, 'clock' | 'isPaused' | 'listChanged' | 'ordersChanges'>;
  queue: SyncQueueRepository;
  executor: SyncExecutor;
  imports: Pick<ImportService, 'continue'>;
  logger: Logger;
}

export interface SyncSchedule {
  /** Average time between two polls of the queue, in milliseconds. */
  pollMs: number;
  /** Maximum number of background syncs at once in this process. */
  workers: number;
  /** Time limit of a background sync. */
  timeoutMs: number;
  /** The changed issues that are synced in the background: none, issues with a remote issue, or all. */
  autoSync: 'off' | 'linked' | 'all';
  /** Time between two polls of the tracker by all replicas together, in seconds; 0 disables polling. */
  pollRemoteSeconds: number;
}

/**
 * Syncs issues in the background: retries, syncs whose process died, and changes. Leases allow any number of replicas.
 */
export class SyncScheduler {
  readonly #dependencies: SyncSchedulerDependencies;
  readonly #schedule: SyncSchedule;
  readonly #workers = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  readonly #stopping = new AbortController();
  #changesReadUntil: Date | undefined;
  #hasReadOtherProjects = false;
  #remotePoll: Promise<void> | undefined;
  #import: Promise<void> | undefined;

  constructor(dependencies: SyncSchedulerDependencies, schedule: SyncSchedule) {
    this.#dependencies = dependencies;
    this.#schedule = schedule;
  }

  start(): void {
    this.#planPoll();
  }

  /** Leases no more issues, aborts running syncs, and waits until they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#dependencies.executor.stop();
    await Promise.allSettled([...this.#workers, this.#remotePoll, this.#import]);
  }

  // The delay has jitter, so that replicas that started together do not poll together.
  #planPoll(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#schedule.pollMs * (0.75 + Math.random() / 2));
    this.#timer.unref();
  }

  async #poll(): Promise<void> {
    try {
      await this.#fillQueue();
    } catch (error) {
      this.#dependencies.logger.warn({ err: error }, 'could not queue issues for sync');
    }
    const { autoSync, pollRemoteSeconds, workers } = this.#schedule;
    if (this.#dependencies.tracker.isPaused) {
      this.#planPoll();
      return;
    }
    if (autoSync !== 'off' && pollRemoteSeconds > 0 && workers > 0) {
      this.#remotePoll ??= this.#pollRemote().finally(() => {
        this.#remotePoll = undefined;
      });
    }
    if (workers > 0) {
      this.#import ??= this.#continueImport().finally(() => {
        this.#import = undefined;
      });
    }
    while (!this.#isStopping && this.#workers.size < this.#schedule.workers) {
      const worker: Promise<void> = this.#workUntilEmpty().finally(() => this.#workers.delete(worker));
      this.#workers.add(worker);
    }
    this.#planPoll();
  }

  async #workUntilEmpty(): Promise<void> {
    const { tracker, queue, executor, logger } = this.#dependencies;
    const { timeoutMs } = this.#schedule;
    try {
      while (!this.#isStopping && !tracker.isPaused) {
        const job = await queue.leaseDue(timeoutMs);
        if (job === undefined) return;
        await executor.run(job, `sync-${job.leaseId}`, timeoutMs);
      }
    } catch (error) {
      logger.warn({ err: error }, 'a background sync failed');
    }
  }

  async #continueImport(): Promise<void> {
    const { imports, logger } = this.#dependencies;
    try {
      await imports.continue(this.#stopping.signal, this.#schedule.timeoutMs);
    } catch (error) {
      if (!this.#isStopping) logger.warn({ err: error }, 'could not continue an import');
    }
  }

  async #pollRemote(): Promise<void> {
    const { tracker, queue, logger } = this.#dependencies;
    const { pollRemoteSeconds, timeoutMs } = this.#schedule;
    const signal = abortAfter(timeoutMs, this.#stopping.signal);
    try {
      const poll = await queue.beginPoll(pollRemoteSeconds, tracker.clock());
      if (poll === undefined) return;
      let newest = new Date(0);
      for (
        let position: ListPosition | undefined = { since: poll.since, page: 1 };
        position !== undefined;
      ) {
        const { issues, hasNext } = await tracker.listChanged(position, signal);
        await queue.addChangedRemotes(issues);
        await queue.addDuplicated(issues);
        newest = newestOf(issues, newest);
        position = hasNext ? positionAfter(position, issues, tracker) : undefined;
        if (position?.page === 1) await queue.recordChanges(position.since, poll);
      }
      await queue.recordChanges(newest, poll);
      await queue.endPoll(poll);
    } catch (error) {
      if (!this.#isStopping) logger.warn({ err: error }, 'could not poll the tracker for changes');
    }
  }

  async #fillQueue(): Promise<void> {
    const { queue } = this.#dependencies;
    const { autoSync: which, timeoutMs, workers } = this.#schedule;
    if (workers > 0) await Promise.all([queue.addStuck(), queue.addRecovered(), queue.addUncertain()]);
    if (workers > 0 && !this.#hasReadOtherProjects) await queue.addOfOtherProjects();
    this.#hasReadOtherProjects = true;
    if (which === 'off') return;
    this.#changesReadUntil = await queue.addChanged(this.#changesReadUntil, {
      which,
      overlapMs: timeoutMs + 60_000,
    });
  }
}
