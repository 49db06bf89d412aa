import type { Logger } from '../observability/logger.ts';

/** Deletes a batch of rows of one table; answers how many, undefined where another janitor is at work. */
export type SweepBatch = (batchSize: number) => Promise<number | undefined>;

interface JanitorOptions<Table extends string> {
  /** What is deleted, table by table, in this order. */
  sweeps: Readonly<Record<Table, SweepBatch>>;
  logger: Logger;
  /** Between two runs, and a tenth of it more or less, so that replicas do not run together. 0 means never. */
  intervalSeconds: number;
  batchSize?: number;
  /** Bound on one run, in milliseconds; what is left waits for the next. */
  budgetMs?: number;
  /** Told about every batch. */
  onDeleted?: (table: Table, rows: number) => void;
}

/** Rows deleted by one run, by table. */
export type Swept<Table extends string = string> = Record<Table, number>;

/** Deletes what is past its time, now and then, in every replica: they share one lock, and one of them works. */
export class Janitor<Table extends string> {
  readonly #options: Required<JanitorOptions<Table>>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: JanitorOptions<Table>) {
    this.#options = { batchSize: 1000, budgetMs: 30_000, onDeleted: () => undefined, ...options };
  }

  /** The first run comes within one interval. */
  start(): void {
    const { intervalSeconds } = this.#options;
    if (intervalSeconds > 0) this.#schedule(Math.random() * intervalSeconds);
  }

  /** Fulfilled when nothing is under way any more: a run ends with the batch that it is at. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** One run. It ends early where another janitor is at work, where its time is over, and at {@link stop}. */
  run(): Promise<Swept<Table>> {
    const run = this.#sweepAll();
    this.#running = run.catch(() => undefined);
    return run;
  }

  #schedule(seconds: number): void {
    this.#timer = setTimeout(() => void this.#runAndReschedule(), seconds * 1000);
    this.#timer.unref();
  }

  async #runAndReschedule(): Promise<void> {
    const { logger, intervalSeconds } = this.#options;
    try {
      const deleted = await this.run();
      if (Object.values<number>(deleted).some((count) => count > 0))
        logger.info({ deleted }, 'expired rows deleted');
    } catch (error) {
      logger.warn({ err: error }, 'the janitor failed, and will try again');
    }
    if (!this.#stopped) this.#schedule(intervalSeconds * (0.9 + Math.random() * 0.2));
  }

  async #sweepAll(): Promise<Swept<Table>> {
    const { sweeps, batchSize, budgetMs, onDeleted } = this.#options;
    const tables = Object.keys(sweeps) as Table[];
    const swept = Object.fromEntries(tables.map((table) => [table, 0])) as Swept<Table>;
    const deadline = performance.now() + budgetMs;
    for (const table of tables) {
      for (let deleted = batchSize; deleted === batchSize; swept[table] += deleted) {
        if (this.#stopped || performance.now() >= deadline) return swept;
        const batch = await sweeps[table](batchSize);
        if (batch === undefined) return swept;
        deleted = batch;
        onDeleted(table, batch);
      }
    }
    return swept;
  }
}
