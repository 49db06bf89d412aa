import type { Logger } from '../observability/logger.ts';

/** Deletes a batch of expired rows of a table; returns their number, or undefined if another replica is cleaning up. */
export type CleanupTask = (batchSize: number) => Promise<number | undefined>;

interface CleanupOptions<Table extends string> {
  /** The tasks by table, in the order of execution. */
  tasks: Readonly<Record<Table, CleanupTask>>;
  logger: Logger;
  /** Time between two runs, varied by a tenth so that replicas do not run at the same time; 0 disables the job. */
  intervalSeconds: number;
  batchSize?: number;
  /** Time limit of a run, in milliseconds; the next run continues. */
  budgetMs?: number;
  /** Called after every batch. */
  onDeleted?: (table: Table, rows: number) => void;
}

/** Number of deleted rows by table. */
export type DeletedRows<Table extends string = string> = Record<Table, number>;

/**
 * Deletes expired rows at intervals. Every replica runs the job; an advisory lock lets only one of them delete at a
 * time.
 */
export class CleanupJob<Table extends string> {
  readonly #options: Required<CleanupOptions<Table>>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: CleanupOptions<Table>) {
    this.#options = { batchSize: 1000, budgetMs: 30_000, onDeleted: () => undefined, ...options };
  }

  /** Schedules the runs; the first one starts within one interval. */
  start(): void {
    const { intervalSeconds } = this.#options;
    if (intervalSeconds > 0) this.#schedule(Math.random() * intervalSeconds);
  }

  /** Stops the job; resolves after the current batch. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Runs all tasks once. Ends early when another replica is cleaning up, at the time limit, and at {@link stop}. */
  run(): Promise<DeletedRows<Table>> {
    const run = this.#runTasks();
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
      logger.warn({ err: error }, 'cleanup failed and will be retried');
    }
    if (!this.#stopped) this.#schedule(intervalSeconds * (0.9 + Math.random() * 0.2));
  }

  async #runTasks(): Promise<DeletedRows<Table>> {
    const { tasks, batchSize, budgetMs, onDeleted } = this.#options;
    const tables = Object.keys(tasks) as Table[];
    const total = Object.fromEntries(tables.map((table) => [table, 0])) as DeletedRows<Table>;
    const deadline = performance.now() + budgetMs;
    for (const table of tables) {
      for (let deleted = batchSize; deleted === batchSize; total[table] += deleted) {
        if (this.#stopped || performance.now() >= deadline) return total;
        const batch = await tasks[table](batchSize);
        if (batch === undefined) return total;
        deleted = batch;
        onDeleted(table, batch);
      }
    }
    return total;
  }
}

/** The raw queries of a Prisma client. */
interface RawDatabase {
  $queryRaw<Rows>(query: TemplateStringsArray, ...values: unknown[]): PromiseLike<Rows>;
}

/**
 * Runs a deletion in one statement under an advisory lock. The deletion is a `Prisma.sql` that ends with `RETURNING` and
 * selects no rows unless `(SELECT held FROM guard)`. Returns the number of deleted rows, or undefined without the lock.
 */
export async function deleteBatch(
  database: RawDatabase,
  lockKey: bigint,
  deletion: object,
): Promise<number | undefined> {
  const [row] = await database.$queryRaw<{ held: boolean; deleted: number }[]>`
    WITH guard AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${lockKey}) AS held),
    deleted AS (${deletion})
    SELECT held, (SELECT count(*)::int FROM deleted) AS deleted FROM guard`;
  return row?.held === true ? row.deleted : undefined;
}
