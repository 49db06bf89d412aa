import { ProblemError, unavailableProblem } from '@tessera/service-kit';

interface Waiting {
  start: () => void;
}

/** Told about every job, in seconds. */
export interface HashQueueObserver {
  onStart: (waitedSeconds: number) => void;
  onEnd: (workedSeconds: number) => void;
}

interface HashQueueOptions {
  /** Jobs at once: below libuv's pool size, which bcrypt shares with DNS, files and signatures. */
  concurrency: number;
  /** Jobs that may wait. */
  maxWaiting: number;
  /** Longest wait, in milliseconds. */
  timeoutMs: number;
  observer?: HashQueueObserver;
}

/** First in, first out, bounded: overload is answered at once, and a job whose client has gone is dropped. */
export class HashQueue {
  readonly #options: HashQueueOptions;
  readonly #waiting: Set<Waiting> = new Set();
  #running = 0;

  constructor(options: HashQueueOptions) {
    this.#options = options;
  }

  /** Jobs that wait now. */
  get depth(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a job when a place is free; `waited` tells it whether the world may have changed meanwhile.
   * Throws a 503 problem when the queue is full or the wait too long.
   */
  async run<Result>(job: (waited: boolean) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { concurrency, observer } = this.#options;
    const waited = this.#running >= concurrency;
    const askedAt = performance.now();
    if (waited) await this.#wait(signal);
    else this.#running += 1;
    const startedAt = performance.now();
    observer?.onStart((startedAt - askedAt) / 1000);
    try {
      return await job(waited);
    } finally {
      observer?.onEnd((performance.now() - startedAt) / 1000);
      this.#release();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#options.maxWaiting) {
      throw unavailableProblem('Too many sign-ins at once; try again in a moment.', 1);
    }
    return new Promise((resolve, reject) => {
      const leave = (problem: ProblemError) => {
        forget();
        reject(problem);
      };
      const waiting = {
        start: () => {
          forget();
          resolve();
        },
      };
      const onAbort = () => leave(clientGone());
      const timer = setTimeout(
        () => leave(unavailableProblem('The service is busy; try again in a moment.', 2)),
        this.#options.timeoutMs,
      );
      const forget = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiting);
      };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }

  // A place is handed on rather than freed, so that a newcomer cannot overtake who waits.
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running -= 1;
    else next.start();
  }
}

// Never seen by anyone: the connection is closed. 408 keeps it out of the server-error statistics.
function clientGone(): ProblemError {
  return new ProblemError({ status: 408, code: 'client_gone', detail: 'The client closed the connection.' });
}
