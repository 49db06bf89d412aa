import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@tessera/service-kit';
import type { EventSignal } from './event-signal.ts';

interface EventWorkerOptions {
  /** Names the worker in the log. */
  name: string;
  signal: Pick<EventSignal, 'subscribe'>;
  /** Processes a page of events. Returns true if there may be more. */
  run: () => Promise<boolean>;
  /** Time after a run that has read all events, in milliseconds, so that many writes cost one run; 0 by default. */
  pauseMs?: number;
  logger: Logger;
}

/** Runs a reader of events whenever there may be new ones, one run at a time. A failed run is repeated at the next signal. */
export class EventWorker {
  readonly #options: EventWorkerOptions;
  #unsubscribe: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isSignalled = false;
  readonly #stopping = new AbortController();

  constructor(options: EventWorkerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unsubscribe = this.#options.signal.subscribe(() => this.wake());
    this.wake();
  }

  /** Starts no more runs; resolves after the current one. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    await this.#running;
  }

  /** Runs again, also without a signal. */
  wake(): void {
    this.#isSignalled = true;
    this.#running ??= this.#runUntilRead().finally(() => {
      this.#running = undefined;
    });
  }

  async #runUntilRead(): Promise<void> {
    const { name, run, pauseMs = 0, logger } = this.#options;
    const { signal } = this.#stopping;
    while (this.#isSignalled && !signal.aborted) {
      this.#isSignalled = false;
      try {
        if (await run()) this.#isSignalled = true;
        else if (pauseMs > 0) await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      } catch (error) {
        logger.warn({ err: error, reader: name }, 'could not process events');
        return;
      }
    }
  }
}
