import { randomBytes } from 'node:crypto';
import { passwordMaxBytes } from '@tessera/contracts';
import bcrypt from 'bcrypt';
import type { HashQueue } from './hash-queue.ts';

interface CompareOptions {
  /** The stored hash, or null where there is none that may match: the decoy is compared instead. */
  hash: string | null;
  signal?: AbortSignal;
  /** Runs in the job, right before the comparison; may refuse. `waited` says whether the job stood in the queue. */
  beforeCompare: (waited: boolean) => Promise<void>;
  /** Runs in the job, after a comparison that failed: the next job finds its effect. */
  onMismatch: () => Promise<void>;
}

/** bcrypt behind the hash queue. A comparison costs the same whether or not there is a hash to compare with. */
export class PasswordHasher {
  readonly #cost: number;
  readonly #decoyHash: string;
  readonly #queue: HashQueue;

  private constructor(cost: number, decoyHash: string, queue: HashQueue) {
    this.#cost = cost;
    this.#decoyHash = decoyHash;
    this.#queue = queue;
  }

  /** Makes the decoy at the configured cost: at another cost it would tell unknown e-mails by time. */
  static async create(cost: number, queue: HashQueue): Promise<PasswordHasher> {
    const decoyHash = await bcrypt.hash(randomBytes(18).toString('base64'), cost);
    return new PasswordHasher(cost, decoyHash, queue);
  }

  async hash(password: string, signal?: AbortSignal): Promise<string> {
    assertComparable(password);
    return this.#queue.run(() => bcrypt.hash(password, this.#cost), signal);
  }

  /** Exactly one bcrypt comparison, on every branch. */
  async matches(
    password: string,
    { hash, signal, beforeCompare, onMismatch }: CompareOptions,
  ): Promise<boolean> {
    const comparable = isComparable(password) && hash !== null;
    return this.#queue.run(async (waited) => {
      await beforeCompare(waited);
      const equal = await bcrypt.compare(password, comparable ? hash : this.#decoyHash);
      const matches = equal && comparable;
      if (!matches) await onMismatch();
      return matches;
    }, signal);
  }

  /** True where a stored hash was made at a lower cost than today's. */
  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) < this.#cost;
  }
}

/** bcrypt reads 72 bytes: two longer passwords with the same beginning would be one. */
export function isComparable(password: string): boolean {
  return Buffer.byteLength(password) <= passwordMaxBytes;
}

function assertComparable(password: string): void {
  if (!isComparable(password)) throw new RangeError(`a password has at most ${passwordMaxBytes} bytes`);
}
