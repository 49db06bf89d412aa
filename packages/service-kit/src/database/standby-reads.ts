import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ProblemError } from '../http/problem.ts';
import type { Logger } from '../observability/logger.ts';
import {
  type PrimaryPlace,
  placeOf,
  positionBeyond,
  positionOf,
  primaryPlaceStatement,
  type StandbyPlace,
  standbyPlaceStatement,
} from './database-position.ts';
import { listAgeMaxMs, PrimaryTrail, type Verdict } from './primary-trail.ts';
import type { ReadOptions, ReadSource } from './read-source.ts';
import { clientRunner, type SqlClientOptions, type SqlRunner } from './sql-client.ts';
import { timeline } from './standby.ts';

interface StandbyReadsOptions extends Pick<SqlClientOptions, 'sql' | 'nameOf'> {
  primary: ReadSource;
  /** A connection to the primary, for its place; of its own, so that a position never waits for lists. */
  primaryPool: pg.Pool;
  /** Connections to one standby, or to several behind one address. */
  standbyPool: pg.Pool;
  /** One more connection to them, so that the look at the standby never waits for lists. */
  probePool: pg.Pool;
  /** Whether a pooler in transaction mode may change the server between two transactions. */
  throughPooler: boolean;
  onRead: (server: ReadServer) => void;
  logger: Logger;
  /** How long the standby may take; `standbyPatience` by default. */
  patience?: StandbyPatience;
}

/** How long the standby may take, in milliseconds. */
interface StandbyPatience {
  /** Until it has answered a look from the background. */
  lookMaxMs: number;
  /** Until it has answered a read; then the primary does it again. */
  readMaxMs: number;
}
const standbyPatience: StandbyPatience = { lookMaxMs: 500, readMaxMs: 1_000 };

/** Which server has served a read. */
export type ReadServer = 'standby' | 'primary';

/** How long a read waits until the standby has replayed its position, in milliseconds, and the time between two looks. */
const waitMaxMs = 50;
const waitStepMs = 10;
/** Time between two looks at both servers, in milliseconds. */
const lookMs = 1_000;

/**
 * Reads from a standby, and from the primary whenever the standby cannot serve the read: it lacks a position that the read must
 * see, is too far behind, has taken over, belongs to another database, or does not answer. A standby that failed gets no
 * read until a look from the background, once a second, has found it well again. So a lost standby costs no read more than
 * `readMaxMs`, and those that come later nothing.
 *
 * Each connection remembers the place of its server, because one address may lead to several standbys. A read that may not be
 * served by what is remembered looks once more, with one statement. A read that waits holds no connection between two looks.
 */
export class StandbyReads implements ReadSource {
  readonly #options: StandbyReadsOptions;
  readonly #patience: StandbyPatience;
  readonly #trail = new PrimaryTrail();
  readonly #places = new WeakMap<pg.PoolClient, StandbyPlace>();
  readonly #stopping = new AbortController();
  #isUsable = false;
  #isAnnounced = false;
  #looking: Promise<void> | undefined;

  constructor(options: StandbyReadsOptions) {
    this.#options = options;
    this.#patience = options.patience ?? standbyPatience;
  }

  /** Whether reads come from the standby. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  start(): void {
    this.#looking ??= this.#keepLooking();
  }

  /** Ends the looks; the pools are closed by those who opened them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  /**
   * Returns a position that has everything that is committed. If the primary does not tell it, returns one that only the primary
   * can have for the time being; undefined if there never was a place.
   */
  async position(): Promise<string | undefined> {
    try {
      return positionOf(await this.#placeOfPrimary());
    } catch (err) {
      this.#options.logger.warn({ err }, 'could not read the place of the primary');
      const { latest } = this.#trail;
      return latest && positionBeyond(latest);
    }
  }

  async read<Result>(
    run: (within: SqlRunner) => Promise<Result>,
    options: ReadOptions = {},
  ): Promise<Result> {
    // A snapshot may be older than the place that is read within it.
    const done =
      options.isolationLevel === undefined ? await this.#tryStandby(run, options.after) : undefined;
    this.#options.onRead(done === undefined ? 'primary' : 'standby');
    return done === undefined ? this.#options.primary.read(run, options) : done.result;
  }

  async #tryStandby<Result>(
    run: (within: SqlRunner) => Promise<Result>,
    after: string | undefined,
  ): Promise<{ result: Result } | undefined> {
    const giveUpAt = performance.now() + waitMaxMs;
    while (this.#isUsable) {
      const client = await this.#connect();
      if (client === undefined) return undefined;
      const done = await this.#useClient(client, run, after);
      if (done !== 'behind') return done;
      if (performance.now() + waitStepMs > giveUpAt) return undefined;
      await sleep(waitStepMs);
    }
    return undefined;
  }

  async #connect(): Promise<pg.PoolClient | undefined> {
    try {
      return await this.#options.standbyPool.connect();
    } catch (error) {
      // A busy pool is no failure. If the standby hangs, the next look finds it.
      if (!isBusy(error)) this.#setUnusable(`the standby cannot be reached: ${textOf(error)}`);
      return undefined;
    }
  }

  /** Runs the read on a connection and releases it. Undefined: the primary has to do it. */
  async #useClient<Result>(
    client: pg.PoolClient,
    run: (within: SqlRunner) => Promise<Result>,
    after: string | undefined,
  ): Promise<{ result: Result } | 'behind' | undefined> {
    // The statement that needs the connection fails, too.
    const ignore = () => undefined;
    client.on('error', ignore);
    let failure: Error | undefined;
    try {
      return await within(this.#patience.readMaxMs, this.#readOn(client, run, after));
    } catch (error) {
      // The read has found something to refuse.
      if (error instanceof ProblemError) throw error;
      failure = error instanceof Error ? error : new Error(textOf(error));
      this.#options.logger.debug({ err: error }, 'a read of the standby failed');
      return undefined;
    } finally {
      client.off('error', ignore);
      // A failed statement may still run, and a lost connection is of no use.
      client.release(failure);
    }
  }

  async #readOn<Result>(
    client: pg.PoolClient,
    run: (within: SqlRunner) => Promise<Result>,
    after: string | undefined,
  ): Promise<{ result: Result } | 'behind' | undefined> {
    const { throughPooler } = this.#options;
    // Within a transaction, a pooler keeps the server.
    if (throughPooler) await client.query('BEGIN');
    const place = await this.#judged(client, after);
    const done = typeof place === 'object' ? { result: await run(this.#runnerOf(client, place)) } : place;
    if (throughPooler) await client.query('COMMIT');
    return done;
  }

  /** Returns the place of a server that may serve the read. */
  async #judged(
    client: pg.PoolClient,
    after: string | undefined,
  ): Promise<StandbyPlace | 'behind' | undefined> {
    const known = this.#options.throughPooler ? undefined : this.#places.get(client);
    if (known !== undefined && this.#judge(known, after) === 'current') return known;
    const place = await lookAtStandby(client);
    this.#places.set(client, place);
    const verdict = this.#judge(place, after);
    if (typeof verdict === 'object') this.#setUnusable(verdict.unusable);
    if (verdict === 'current') return place;
    return verdict === 'behind' ? verdict : undefined;
  }

  #judge(place: StandbyPlace, after?: string, ageMaxMs?: number): Verdict {
    return this.#trail.judge(place, after, performance.now(), ageMaxMs);
  }

  // A standby refuses the functions that tell the timeline, and the service knows it.
  #runnerOf(client: pg.PoolClient, place: StandbyPlace): SqlRunner {
    const runner = clientRunner(client, this.#options);
    const onStandby = (text: string) => text.replaceAll(timeline, String(place.timeline));
    return {
      ...runner,
      $queryRaw: (query, ...values) =>
        'text' in query
          ? runner.$queryRaw({ text: onStandby(query.text), values: query.values })
          : runner.$queryRaw(query, ...values),
    };
  }

  async #placeOfPrimary(): Promise<PrimaryPlace> {
    return placeOf((await this.#options.primaryPool.query<PrimaryPlace>(primaryPlaceStatement)).rows[0]);
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#look();
      await sleep(lookMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const at = performance.now();
    try {
      this.#trail.note(await this.#placeOfPrimary(), at);
    } catch (err) {
      this.#options.logger.debug({ err }, 'could not read the place of the primary');
    }
    try {
      const place = await this.#probe();
      // Nearer than for the reads, so that a standby at the limit does not come and go.
      const verdict = this.#judge(place, undefined, this.#isUsable ? listAgeMaxMs : listAgeMaxMs / 2);
      if (typeof verdict === 'object') this.#setUnusable(verdict.unusable);
      else this.#setUsable();
    } catch (error) {
      this.#setUnusable(`the standby cannot be reached: ${textOf(error)}`);
    }
  }

  async #probe(): Promise<StandbyPlace> {
    const client = await this.#options.probePool.connect();
    const ignore = () => undefined;
    client.on('error', ignore);
    let failure: Error | undefined;
    try {
      return await within(this.#patience.lookMaxMs, lookAtStandby(client));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(textOf(error));
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(failure);
    }
  }

  #setUsable(): void {
    if (this.#isUsable) return;
    this.#isUsable = this.#isAnnounced = true;
    this.#options.logger.info('lists are read from the standby');
  }

  #setUnusable(reason: string): void {
    if (this.#stopping.signal.aborted || (this.#isAnnounced && !this.#isUsable)) return;
    this.#isUsable = false;
    this.#isAnnounced = true;
    this.#options.logger.warn({ reason }, 'lists are read from the primary');
  }
}

async function lookAtStandby(client: pg.PoolClient): Promise<StandbyPlace> {
  return placeOf((await client.query<StandbyPlace>(standbyPlaceStatement)).rows[0]);
}

/** Rejects after a time. The work goes on, and its result is dropped. */
async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

// The message of pg's pool.
function isBusy(error: unknown): boolean {
  return textOf(error).includes('timeout exceeded when trying to connect');
}

// A message of pg has no password.
function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
