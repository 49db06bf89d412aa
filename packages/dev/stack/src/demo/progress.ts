/** A progress bar on standard error; without a terminal, a line for each tenth. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  #done = 0;

  constructor(label: string, total: number) {
    this.#label = label;
    this.#total = total;
  }

  advance(by = 1): void {
    const before = Math.floor((this.#done / this.#total) * 10);
    this.#done += by;
    const share = Math.min(1, this.#done / this.#total);
    if (process.stderr.isTTY) {
      const filled = Math.round(share * 30);
      process.stderr.write(
        `\r${this.#label} [${'#'.repeat(filled)}${'.'.repeat(30 - filled)}] ${this.#done}/${this.#total}`,
      );
      if (share === 1) process.stderr.write('\n');
    } else if (Math.floor(share * 10) > before) {
      process.stderr.write(`${this.#label} ${this.#done}/${this.#total}\n`);
    }
  }
}
