import type { Logger } from '../observability/logger.ts';
import type { EventSignal } from './event-signal.ts';

interface EventWorkerOptions {
  /** Names the worker in the log. */
  name: string;
  signal: Pick<EventSignal, 'subscribe'>;
  /** Processes a page of events. Returns true if there may be more. */
  run: () => Promise<boolean>;
  logger: Logger;
}

/** Runs a reader of events whenever there may be new ones, one run at a time. A failed run is repeated at the next signal. */
export class EventWorker {
  readonly #options: EventWorkerOptions;
  #unsubscribe: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isSignalled = false;
  #isStopping = false;

  constructor(options: EventWorkerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unsubscribe = this.#options.signal.subscribe(() => this.#wake());
    this.#wake();
  }

  /** Starts no more runs; resolves after the current one. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe?.();
    await this.#running;
  }

  #wake(): void {
    this.#isSignalled = true;
    this.#running ??= this.#runUntilRead().finally(() => {
      this.#running = undefined;
    });
  }

  async #runUntilRead(): Promise<void> {
    const { name, run, logger } = this.#options;
    while (this.#isSignalled && !this.#isStopping) {
      this.#isSignalled = false;
      try {
        if (await run()) this.#isSignalled = true;
      } catch (error) {
        logger.warn({ err: error, reader: name }, 'could not process events');
        return;
      }
    }
  }
}
