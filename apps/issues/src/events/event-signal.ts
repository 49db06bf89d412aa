import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@tessera/service-kit';
import type { EventChannel } from './event-channel.ts';

/** Average time between two calls of the listeners without a signal, in milliseconds. */
const intervalMs = 2_000;
/** Minimum time between two calls for changes, and between two notifications, in milliseconds. */
const pauseMs = 50;

/**
 * Tells the readers of events in this process that there may be new events. Events are found without it too: every
 * listener is also called at intervals. With a channel, changes of other processes are signalled, and theirs here.
 */
export class EventSignal {
  readonly #listeners = new Set<() => void>();
  readonly #channel: Pick<EventChannel, 'start' | 'stop' | 'notify'> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #isPending = false;
  #mustNotify = false;

  constructor(channel?: Pick<EventChannel, 'start' | 'stop' | 'notify'>) {
    this.#channel = channel;
  }

  start(): void {
    this.#channel?.start(() => this.#changed());
    this.#schedule();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#pause);
    this.#listeners.clear();
    await this.#channel?.stop();
  }

  /** Called after this process has committed a change. */
  written(): void {
    this.#mustNotify = true;
    this.#changed();
  }

  /** Adds a listener. It must neither throw nor do work itself. Returns a function that removes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #schedule(): void {
    // The interval has jitter, so that replicas that started together do not read together.
    this.#timer = setTimeout(
      () => {
        this.#call();
        this.#schedule();
      },
      intervalMs * (0.75 + Math.random() / 2),
    );
    this.#timer.unref();
  }

  // The first of several changes is signalled at once, the others together after the pause.
  #changed(): void {
    this.#isPending = true;
    if (this.#pause === undefined) this.#flush();
  }

  #flush(): void {
    this.#pause = undefined;
    if (!this.#isPending) return;
    this.#isPending = false;
    if (this.#mustNotify) this.#channel?.notify();
    this.#mustNotify = false;
    this.#pause = setTimeout(() => this.#flush(), pauseMs);
    this.#pause.unref();
    this.#call();
  }

  #call(): void {
    for (const listener of this.#listeners) listener();
  }
}

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
