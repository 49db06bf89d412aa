/** Average time between two calls of the listeners without a signal, in milliseconds. */
const intervalMs = 2_000;

/**
 * Tells the readers of events in this process that there may be new events. Events are found without it too: every
 * listener is also called at intervals.
 */
export class EventSignal {
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    // The interval has jitter, so that replicas that started together do not read together.
    this.#timer = setTimeout(
      () => {
        this.#call();
        this.start();
      },
      intervalMs * (0.75 + Math.random() / 2),
    );
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  /** Called after this process has committed a change. */
  written(): void {
    this.#call();
  }

  /** Adds a listener. It must neither throw nor do work itself. Returns a function that removes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #call(): void {
    for (const listener of this.#listeners) listener();
  }
}
