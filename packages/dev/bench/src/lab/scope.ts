/** What was started, and is ended in the opposite order. */
export class Scope {
  readonly #endings: (() => unknown)[] = [];

  /** Remembers how to end it. */
  defer(end: () => unknown): void {
    this.#endings.push(end);
  }

  /** Ends everything, even when something does not end well. @throws AggregateError of what did not */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let end = this.#endings.pop(); end !== undefined; end = this.#endings.pop()) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything was ended well');
  }
}
