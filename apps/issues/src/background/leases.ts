import { setTimeout as pause } from 'node:timers/promises';
import { unavailableWhenDatabaseIsDown } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';

interface LeaseStatements<Job> {
  /** Takes the lease with this id; undefined if there is nothing to lease. */
  lease: (id: string) => Promise<Job | undefined>;
  /** Ends the lease with this id, if it exists, without a result. */
  release: (id: string) => Promise<unknown>;
}

/** Time between two repetitions, in milliseconds: a lease ends within two seconds after the database is available again. */
const pauseMs = 250;

/**
 * The leases of this process in the database. If the database is down when a lease is taken or ended, the lease would block
 * other work until it expires. So its end is repeated, until it succeeds or the lease has expired.
 */
export class Leases {
  /** When each lease has expired at the latest, by the clock of this process. */
  readonly #expiries = new Map<string, number>();
  readonly #releases = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  /** Takes a lease for `ms` milliseconds. If the answer of the database is lost, the lease is released in the background. */
  async take<Job>(ms: number, { lease, release }: LeaseStatements<Job>): Promise<Job | undefined> {
    const id = uuidv7();
    this.extend(id, ms);
    try {
      const job = await lease(id);
      if (job === undefined) this.#expiries.delete(id);
      return job;
    } catch (error) {
      this.#releaseLater(id, release);
      throw error;
    }
  }

  /** Notes that a lease expires in `ms` milliseconds. */
  extend(id: string, ms: number): void {
    this.#forgetExpired();
    this.#expiries.set(id, performance.now() + ms);
  }

  /** Runs the statement that ends a lease. `isRepeated`: whether an earlier run may have ended it already. */
  async end<Result>(id: string, write: (isRepeated: boolean) => Promise<Result>): Promise<Result> {
    const expiry = this.#expiries.get(id) ?? 0;
    const { signal } = this.#stopping;
    try {
      for (let isRepeated = false; ; isRepeated = true) {
        try {
          return await write(isRepeated);
        } catch (error) {
          const isOver = signal.aborted || performance.now() >= expiry;
          if (isOver || unavailableWhenDatabaseIsDown(error) === undefined) throw error;
        }
        await pause(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    } finally {
      this.#expiries.delete(id);
    }
  }

  /** Repeats nothing from now on. Resolves when the releases in the background have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#releases);
  }

  #releaseLater(id: string, release: (id: string) => Promise<unknown>): void {
    // If it fails, too, the lease expires.
    const released = this.end(id, () => release(id))
      .catch(() => undefined)
      .finally(() => this.#releases.delete(released));
    this.#releases.add(released);
  }

  #forgetExpired(): void {
    const now = performance.now();
    for (const [id, expiry] of this.#expiries) if (expiry < now) this.#expiries.delete(id);
  }
}
