/** Stops what was started, in the opposite order. */
export class Scope {
  readonly #stops: (() => unknown)[] = [];

  defer(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  /** Calls every deferred function once, also after failures. @throws AggregateError of the failures */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      try {
        await stop();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'something could not be stopped');
  }
}
