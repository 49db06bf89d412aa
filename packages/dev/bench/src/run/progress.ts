/** What is being done, on standard error: one line drawn over itself, or a line each where nobody watches. */
export class Progress {
  readonly #began = performance.now();
  readonly #total: number;
  #done = 0;
  #width = 0;

  /** @param total how many measurements there will be, as far as can be told before */
  constructor(total: number) {
    this.#total = total;
  }

  /** Something that takes a while and is no measurement. */
  note(text: string): void {
    this.#draw(text);
  }

  /** A measurement begins. */
  step(text: string): void {
    this.#done += 1;
    this.#draw(`[${this.#done}/${this.#total}] ${text}${this.#left()}`);
  }

  /** So many measurements will not take place after all. */
  skip(count: number): void {
    this.#done += count;
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write(`\r${' '.repeat(this.#width)}\r`);
  }

  #left(): string {
    const finished = this.#done - 1;
    if (finished < 3) return '';
    const seconds = (performance.now() - this.#began) / 1000;
    return ` · ${remainingText((seconds / finished) * (this.#total - finished))} left`;
  }

  #draw(text: string): void {
    if (!process.stderr.isTTY) {
      process.stderr.write(`${text}\n`);
      return;
    }
    const line = text.slice(0, (process.stderr.columns ?? 100) - 1);
    process.stderr.write(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }
}

/** A time to wait, as people say it. */
export function remainingText(seconds: number): string {
  if (seconds < 90) return `about ${Math.max(1, Math.round(seconds))} s`;
  return `about ${Math.round(seconds / 60)} min`;
}
