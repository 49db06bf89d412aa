/** Reports the current step on standard error: in one line of a terminal, or in a line for each step elsewhere. */
export class Progress {
  readonly #began = performance.now();
  readonly #total: number;
  #row = 0;
  #width = 0;

  /** @param total the number of rows */
  constructor(total: number) {
    this.#total = total;
  }

  startRow(): void {
    this.#row += 1;
  }

  note(text: string): void {
    const place = this.#row === 0 ? '' : `[${this.#row}/${this.#total}] `;
    this.#draw(`${place}${text}${this.#remaining()}`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write(`\r${' '.repeat(this.#width)}\r`);
  }

  // Estimates the remaining time: the remaining rows take as long on average as the completed ones.
  #remaining(): string {
    const finished = this.#row - 1;
    if (finished < 1) return '';
    const seconds = (performance.now() - this.#began) / 1000;
    return ` · about ${Math.ceil((seconds / finished / 60) * (this.#total - finished))} min left`;
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
