import { randomBytes } from 'node:crypto';
import { passwordMaxBytes } from '@tessera/contracts';
import bcrypt from 'bcrypt';
import type { HashClient, HashQueue } from './hash-queue.ts';

interface CompareOptions {
  /** The stored hash. If null, the password never matches. */
  hash: string | null;
  client: HashClient;
  signal?: AbortSignal;
  /** Runs in the job before the comparison; throws to refuse the sign-in. `waited`: whether the job was queued. */
  beforeCompare: (waited: boolean) => Promise<void>;
  /** Runs in the job after a failed comparison, so that its writes are visible to the next job. */
  onMismatch: () => Promise<void>;
}

/**
 * Runs bcrypt in the hash queue. A refusal takes the same time for every cost of the stored hash, and without a stored
 * hash.
 */
export class PasswordHasher {
  readonly #cost: number;
  readonly #queue: HashQueue;
  readonly #decoys: Map<number, string> = new Map();
  /** The cost of every refusal: the highest cost of all stored hashes. */
  #refusalCost: number;

  constructor(cost: number, queue: HashQueue) {
    this.#cost = cost;
    this.#queue = queue;
    this.#refusalCost = cost;
  }

  /**
   * Raises the cost of refusals to that of a stored hash. Stored hashes cost more than configured if the configured
   * cost was lowered.
   */
  expectCost(cost: number): void {
    this.#refusalCost = Math.max(this.#refusalCost, cost);
  }

  async hash(password: string, signal?: AbortSignal): Promise<string> {
    assertFitsBcrypt(password);
    return this.#queue.run(() => bcrypt.hash(password, this.#cost), { signal });
  }

  async matches(
    password: string,
    { hash, client, signal, beforeCompare, onMismatch }: CompareOptions,
  ): Promise<boolean> {
    const comparable = fitsBcrypt(password) ? hash : null;
    const compare = async (waited: boolean) => {
      await beforeCompare(waited);
      if (comparable !== null && (await bcrypt.compare(password, comparable))) return true;
      await this.#spendRest(password, comparable);
      await onMismatch();
      return false;
    };
    return this.#queue.run(compare, { client, signal });
  }

  // A comparison of cost n takes twice as long as a comparison of cost n - 1. After a comparison of cost c, comparisons
  // with decoys of cost c, c + 1, … n - 1 therefore bring the total time to that of cost n.
  async #spendRest(password: string, compared: string | null): Promise<void> {
    if (compared === null) {
      await bcrypt.compare(password, await this.#decoyOf(this.#refusalCost));
      return;
    }
    const cost = bcrypt.getRounds(compared);
    this.expectCost(cost);
    for (let next = cost; next < this.#refusalCost; next += 1) {
      await bcrypt.compare(password, await this.#decoyOf(next));
    }
  }

  // Returns a hash that matches no password: a random salt and a random result.
  async #decoyOf(cost: number): Promise<string> {
    const known = this.#decoys.get(cost);
    if (known !== undefined) return known;
    const result = randomBytes(24).toString('base64').replaceAll('+', '.').slice(0, 31);
    const decoy = (await bcrypt.genSalt(cost)) + result;
    this.#decoys.set(cost, decoy);
    return decoy;
  }

  /** Whether a hash has a lower cost than configured. */
  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) < this.#cost;
  }
}

/** bcrypt ignores everything after 72 bytes: longer passwords with the same prefix would match each other. */
export function fitsBcrypt(password: string): boolean {
  return Buffer.byteLength(password) <= passwordMaxBytes;
}

function assertFitsBcrypt(password: string): void {
  if (!fitsBcrypt(password)) throw new RangeError(`password exceeds ${passwordMaxBytes} bytes`);
}
