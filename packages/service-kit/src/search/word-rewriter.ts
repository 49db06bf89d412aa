import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../observability/logger.ts';

/** A table with stored words. The ids of its rows are UUIDs. */
export interface WordTable<Row extends { id: string } = never> {
  /** Its row in `word_rewrites`. */
  name: string;
  /** Selects and locks the rows after the id `$1`, at most `$2`, in the order of their ids. */
  select: string;
  /** The new words of a row. */
  wordsOf(row: Row): object;
  /** Writes the words `$1`, a JSON array of objects with `id` and the members of `wordsOf`. */
  update: string;
}

/** Few enough that their locks are held, and the event loop is blocked, for some milliseconds. */
const batch = 25;
const pauseMs = 5;
const retryMs = 2_000;

/**
 * Replaces the words that earlier releases have stored, in batches: each is one transaction, which also records the progress.
 * All replicas may run it; one at a time works on a table, and another continues when that one ends. A crash repeats nothing. Queries look for both words.
 */
export class WordRewriter {
  readonly #pool: pg.Pool;
  readonly #tables: readonly WordTable[];
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor({ pool, tables, logger }: { pool: pg.Pool; tables: readonly WordTable[]; logger: Logger }) {
    this.#pool = pool;
    this.#tables = tables;
    this.#logger = logger;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends after the present batch. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const open = [...this.#tables];
    while (open.length > 0 && !signal.aborted) {
      const [table] = open;
      const progress = table && (await this.#attempt(table));
      if (progress === 'finished') open.shift();
      else
        await sleep(progress === 'written' ? pauseMs : retryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #attempt(table: WordTable): Promise<'finished' | 'written' | 'elsewhere' | 'failed'> {
    try {
      const client = await this.#pool.connect();
      try {
        await client.query('BEGIN');
        const progress = await rewriteNext(client, table);
        await client.query('COMMIT');
        client.release();
        return progress;
      } catch (error) {
        // A connection in an unknown state is not used again.
        client.release(true);
        throw error;
      }
    } catch (error) {
      this.#logger.warn(
        { err: error, table: table.name },
        'words of earlier releases could not be rewritten',
      );
      return 'failed';
    }
  }
}

async function rewriteNext(client: pg.PoolClient, table: WordTable) {
  const { rows: known } = await client.query<{ after: string | null; isFinished: boolean }>(
    `SELECT after, finished_at IS NOT NULL AS "isFinished" FROM word_rewrites WHERE name = $1 FOR UPDATE SKIP LOCKED`,
    [table.name],
  );
  const [progress] = known;
  if (progress === undefined) return 'elsewhere';
  if (progress.isFinished) return 'finished';
  const { rows } = await client.query(table.select, [
    progress.after ?? '00000000-0000-0000-0000-000000000000',
    batch,
  ]);
  if (rows.length === 0) {
    await client.query('UPDATE word_rewrites SET finished_at = now() WHERE name = $1', [table.name]);
    return 'finished';
  }
  const words = rows.map((row) => ({ id: row.id, ...table.wordsOf(row as never) }));
  await client.query(table.update, [JSON.stringify(words)]);
  await client.query('UPDATE word_rewrites SET after = $2 WHERE name = $1', [table.name, rows.at(-1)?.id]);
  return 'written';
}
