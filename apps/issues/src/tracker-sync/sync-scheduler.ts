import type { Logger } from '@tessera/service-kit';
import { abortAfter } from '../background/abort-after.ts';
import { WorkerPool } from '../background/worker-pool.ts';
import {
  type ExternalTracker,
  type ListPosition,
  newestOf,
  positionAfter,
} from '../trackers/external-tracker.ts';
import type { TrackerClock } from '../trackers/tracker-clock.ts';
import type { ImportService } from './import.service.ts';
import type { RemotePollRepository } from './remote-poll.repository.ts';
import type { SyncJob } from './sync-lease.repository.ts';
import type { SyncQueueRepository } from './sync-queue.repository.ts';
import type { SyncRunner } from './sync-runner.ts';

interface SyncSchedulerDependencies {
  tracker: Pick<ExternalTracker, 'isPaused' | 'listChanged' | 'ordersChanges'>;
  clock: Pick<TrackerClock, 'now'>;
  queue: SyncQueueRepository;
  polls: RemotePollRepository;
  runner: SyncRunner;
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
  readonly #pool: WorkerPool<SyncJob>;
  #isStopping = false;
  readonly #stopping = new AbortController();
  #changesReadUntil: Date | undefined;
  #hasReadOtherProjects = false;
  #remotePoll: Promise<void> | undefined;
  #import: Promise<void> | undefined;

  constructor(dependencies: SyncSchedulerDependencies, schedule: SyncSchedule) {
    this.#dependencies = dependencies;
    this.#schedule = schedule;
    const { tracker, queue, runner, logger } = dependencies;
    const { pollMs, workers, timeoutMs } = schedule;
    this.#pool = new WorkerPool({
      name: 'syncs',
      pollMs,
      workers,
      prepare: () => this.#prepare(),
      isPaused: () => tracker.isPaused,
      lease: () => queue.leaseDue(timeoutMs),
      run: async (job) => {
        await runner.run(job, `sync-${job.leaseId}`, timeoutMs);
      },
      logger,
    });
  }

  start(): void {
    this.#pool.start();
  }

  /** Leases no more issues, aborts running syncs, and waits until they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopping.abort();
    const stopped = this.#pool.stop();
    await this.#dependencies.runner.stop();
    await Promise.allSettled([stopped, this.#remotePoll, this.#import]);
  }

  /** Fills the queue and starts polls and imports. Returns false as long as the tracker is paused. */
  async #prepare(): Promise<boolean> {
    try {
      await this.#fillQueue();
    } catch (error) {
      this.#dependencies.logger.warn({ err: error }, 'could not queue issues for sync');
    }
    const { autoSync, pollRemoteSeconds, workers } = this.#schedule;
    if (this.#dependencies.tracker.isPaused) return false;
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
    return true;
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
    const { tracker, clock, queue, polls, logger } = this.#dependencies;
    const { pollRemoteSeconds, timeoutMs } = this.#schedule;
    const signal = abortAfter(timeoutMs, this.#stopping.signal);
    try {
      const poll = await polls.begin(pollRemoteSeconds, clock.now());
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
        if (position?.page === 1) await polls.recordRead(position.since, poll);
      }
      await polls.recordRead(newest, poll);
      await polls.end(poll);
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
