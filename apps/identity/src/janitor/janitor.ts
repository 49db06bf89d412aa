import type { Logger } from '@tessera/service-kit';
import type { JanitorRepository } from './janitor.repository.ts';

interface JanitorOptions {
  repository: JanitorRepository;
  logger: Logger;
  /** Between two runs, and a tenth of it more or less, so that replicas do not run together. 0 means never. */
  intervalSeconds: number;
  /** 0 means for ever. */
  auditRetentionDays: number;
  batchSize?: number;
  /** Bound on one run, in milliseconds; what is left waits for the next. */
  budgetMs?: number;
}

/** Rows deleted by one run, by table. */
export type Swept = Record<'refresh_tokens' | 'token_families' | 'sign_in_counters' | 'audit_events', number>;

type SweepBatch = (batchSize: number) => Promise<number | undefined>;

/** Deletes what is past its time, now and then, in every replica: they share one lock, and one of them works. */
export class Janitor {
  readonly #options: Required<JanitorOptions>;
  readonly #sweeps: readonly (readonly [keyof Swept, SweepBatch])[];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: JanitorOptions) {
    this.#options = { batchSize: 1000, budgetMs: 30_000, ...options };
    const { repository, auditRetentionDays } = options;
    // In this order: a family goes after its tokens.
    this.#sweeps = [
      ['refresh_tokens', (size) => repository.deleteExpiredTokens(size)],
      ['token_families', (size) => repository.deleteEmptyFamilies(size)],
      ['sign_in_counters', (size) => repository.deleteOldCounters(size)],
      [
        'audit_events',
        async (size) =>
          auditRetentionDays === 0 ? 0 : repository.deleteExpiredAuditEvents(auditRetentionDays, size),
      ],
    ];
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
  run(): Promise<Swept> {
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
      if (Object.values(deleted).some((count) => count > 0)) logger.info({ deleted }, 'expired rows deleted');
    } catch (error) {
      logger.warn({ err: error }, 'the janitor failed, and will try again');
    }
    if (!this.#stopped) this.#schedule(intervalSeconds * (0.9 + Math.random() * 0.2));
  }

  async #sweepAll(): Promise<Swept> {
    const { batchSize, budgetMs } = this.#options;
    const swept: Swept = { refresh_tokens: 0, token_families: 0, sign_in_counters: 0, audit_events: 0 };
    const deadline = performance.now() + budgetMs;
    for (const [table, sweep] of this.#sweeps) {
      for (let deleted = batchSize; deleted === batchSize; swept[table] += deleted) {
        if (this.#stopped || performance.now() >= deadline) return swept;
        const batch = await sweep(batchSize);
        if (batch === undefined) return swept;
        deleted = batch;
      }
    }
    return swept;
  }
}
