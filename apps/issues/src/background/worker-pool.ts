import type { Logger } from '@tessera/service-kit';

interface WorkerPoolOptions<Job> {
  /** Names the jobs in the log. */
  name: string;
  /** Average time between two polls of the queue, in milliseconds. */
  pollMs: number;
  /** Maximum number of jobs at once in this process. */
  workers: number;
  /** Called before each poll. Workers start only if it returns true. */
  prepare?: () => Promise<boolean>;
  /** Whether no further jobs may be leased at the moment. */
  isPaused?: () => boolean;
  /** Leases a job that is due; undefined if there is none. */
  lease: () => Promise<Job | undefined>;
  run: (job: Job) => Promise<void>;
  logger: Logger;
}

/**
 * Works on a queue in the database. Jobs are leased, so any number of replicas work on one queue, and the jobs of a process
 * that dies are leased again when their leases expire.
 */
export class WorkerPool<Job> {
  readonly #options: WorkerPoolOptions<Job>;
  readonly #workers = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: WorkerPoolOptions<Job>) {
    this.#options = options;
  }

  start(): void {
    this.#planPoll();
  }

  /** Leases no more jobs, and waits until the running ones have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#workers);
  }

  /** Looks for jobs at once. One worker starts; another follows for each leased job. */
  wake(): void {
    if (this.#isStopping || this.#workers.size >= this.#options.workers) return;
    const worker: Promise<void> = this.#workUntilEmpty().finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  // The delay has jitter, so that replicas that started together do not poll together.
  #planPoll(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#options.pollMs * (0.75 + Math.random() / 2));
    this.#timer.unref();
  }

  async #poll(): Promise<void> {
    const { name, prepare, logger } = this.#options;
    try {
      if (prepare === undefined || (await prepare())) this.wake();
    } catch (error) {
      logger.warn({ err: error, queue: name }, 'could not prepare a queue');
    }
    this.#planPoll();
  }

  async #workUntilEmpty(): Promise<void> {
    const { name, isPaused, lease, run, logger } = this.#options;
    try {
      while (!this.#isStopping && !isPaused?.()) {
        const job = await lease();
        if (job === undefined) return;
        this.wake();
        await run(job);
      }
    } catch (error) {
      logger.warn({ err: error, queue: name }, 'a background job failed');
    }
  }
}
