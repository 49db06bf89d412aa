const passedLifetimeMs = 10 * 60_000;

/** The tracker's clock, which can differ from ours. */
export class TrackerClock {
  /** Difference between the tracker's clock and ours; undefined if responses do not contain the time. */
  #aheadMs: number | undefined;
  /** A lower bound of the tracker's time, in milliseconds relative to `performance.now()`. */
  #passedOffsetMs = Number.NEGATIVE_INFINITY;
  #passedSetAt = 0;

  /** Takes the time from the `Date` header of a response that just arrived. */
  observe(dateHeader: unknown): void {
    const sentAt = Date.parse(String(dateHeader ?? ''));
    if (!Number.isNaN(sentAt)) this.#aheadMs = sentAt - Date.now();
  }

  /** Returns the current time by the tracker's clock, or by ours if it is unknown. */
  now(): Date {
    return new Date(Date.now() + (this.#aheadMs ?? 0));
  }

  /**
   * Returns a time that has passed by the tracker's clock: the latest `seen` time and the time since. Does not use the
   * responses' `Date`, because a proxy with another clock may have added it.
   */
  passedTime(seen: Date): Date {
    const now = performance.now();
    const offsetMs = seen.getTime() - now;
    // After a while, the tracker's clock may have been set back.
    if (offsetMs > this.#passedOffsetMs || now - this.#passedSetAt > passedLifetimeMs) {
      this.#passedOffsetMs = offsetMs;
      this.#passedSetAt = now;
    }
    return new Date(this.#passedOffsetMs + now);
  }
}
