/** The number of responses by action and status. */
export class Tally {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #unexpected = new Map<string, number>();
  total = 0;

  /** @param status the status, or the code of a connection error */
  add(action: string, status: number | string, expected: readonly number[]): void {
    this.total += 1;
    const counts = this.#counts.get(action) ?? new Map<string, number>();
    this.#counts.set(action, counts);
    increment(counts, String(status));
    if (!expected.some((one) => one === status)) increment(this.#unexpected, `${action} ${status}`);
  }

  /** Every action with its counts, such as `login: 200 × 12`. */
  lines(): string[] {
    return [...this.#counts].map(([action, counts]) => `${action}: ${describe(counts)}`);
  }

  get unexpected(): number {
    return [...this.#unexpected.values()].reduce((sum, count) => sum + count, 0);
  }

  get unexpectedText(): string {
    return describe(this.#unexpected);
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function describe(counts: Map<string, number>): string {
  return [...counts].map(([what, count]) => `${what} × ${count}`).join(', ');
}
