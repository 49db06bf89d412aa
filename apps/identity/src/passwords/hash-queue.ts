import { ProblemError, unavailableProblem } from '@tessera/service-kit';

interface WaitingJob {
  start: () => void;
}

/** Receives the wait and run time of each job. */
export interface HashQueueObserver {
  onStart: (waitedSeconds: number) => void;
  onEnd: (workedSeconds: number) => void;
}

interface HashQueueOptions {
  /** Maximum number of parallel jobs. Must be less than libuv's pool size: DNS, files and signatures share the pool. */
  concurrency: number;
  /** Maximum number of waiting jobs. */
  maxWaiting: number;
  /** Maximum wait, in milliseconds. */
  timeoutMs: number;
  observer?: HashQueueObserver;
}

/** A bounded FIFO queue. A full queue rejects new jobs at once; a job is dropped when its client disconnects. */
export class HashQueue {
  readonly #options: HashQueueOptions;
  readonly #waiting: Set<WaitingJob> = new Set();
  #running = 0;

  constructor(options: HashQueueOptions) {
    this.#options = options;
  }

  /** Number of waiting jobs. */
  get depth(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a job when a slot is free. The job receives `waited`: if true, data read before the wait may be stale.
   * Throws a 503 problem if the queue is full or the wait exceeds the timeout.
   */
  async run<Result>(job: (waited: boolean) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { concurrency, observer } = this.#options;
    const waited = this.#running >= concurrency;
    const queuedAt = performance.now();
    if (waited) await this.#wait(signal);
    else this.#running += 1;
    const startedAt = performance.now();
    observer?.onStart((startedAt - queuedAt) / 1000);
    try {
      return await job(waited);
    } finally {
      observer?.onEnd((performance.now() - startedAt) / 1000);
      this.#release();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#options.maxWaiting) {
      throw unavailableProblem('Too many sign-ins at once. Try again later.', 1);
    }
    return new Promise((resolve, reject) => {
      const rejectWith = (problem: ProblemError) => {
        dequeue();
        reject(problem);
      };
      const waiting = {
        start: () => {
          dequeue();
          resolve();
        },
      };
      const onAbort = () => rejectWith(clientDisconnected());
      const timer = setTimeout(
        () => rejectWith(unavailableProblem('The service is busy. Try again later.', 2)),
        this.#options.timeoutMs,
      );
      const dequeue = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiting);
      };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }

  // Pass the slot directly to the next waiting job, so that a new job cannot overtake it.
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running -= 1;
    else next.start();
  }
}

// The response is never delivered. 408 keeps the request out of the 5xx statistics.
function clientDisconnected(): ProblemError {
  return new ProblemError({ status: 408, code: 'client_gone', detail: 'The client closed the connection.' });
}
