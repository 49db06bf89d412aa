import { randomBytes } from 'node:crypto';
import { passwordMaxBytes } from '@tessera/contracts';
import bcrypt from 'bcrypt';
import type { HashQueue } from './hash-queue.ts';

interface CompareOptions {
  /** The stored hash. If null, the password is compared with a decoy hash and never matches. */
  hash: string | null;
  signal?: AbortSignal;
  /** Runs in the job, before the comparison; may throw to refuse. `waited` tells whether the job was queued. */
  beforeCompare: (waited: boolean) => Promise<void>;
  /** Runs in the job after a failed comparison, so that its writes are visible to the next job. */
  onMismatch: () => Promise<void>;
}

/** Runs bcrypt in the hash queue. A comparison takes the same time with and without a stored hash. */
export class PasswordHasher {
  readonly #cost: number;
  readonly #decoyHash: string;
  readonly #queue: HashQueue;

  private constructor(cost: number, decoyHash: string, queue: HashQueue) {
    this.#cost = cost;
    this.#decoyHash = decoyHash;
    this.#queue = queue;
  }

  /** Creates the decoy hash at the configured cost; at another cost, response times would reveal unknown e-mails. */
  static async create(cost: number, queue: HashQueue): Promise<PasswordHasher> {
    const decoyHash = await bcrypt.hash(randomBytes(18).toString('base64'), cost);
    return new PasswordHasher(cost, decoyHash, queue);
  }

  async hash(password: string, signal?: AbortSignal): Promise<string> {
    assertFitsBcrypt(password);
    return this.#queue.run(() => bcrypt.hash(password, this.#cost), signal);
  }

  /** Always runs exactly one bcrypt comparison. */
  async matches(
    password: string,
    { hash, signal, beforeCompare, onMismatch }: CompareOptions,
  ): Promise<boolean> {
    const comparable = fitsBcrypt(password) && hash !== null;
    return this.#queue.run(async (waited) => {
      await beforeCompare(waited);
      const equal = await bcrypt.compare(password, comparable ? hash : this.#decoyHash);
      const matches = equal && comparable;
      if (!matches) await onMismatch();
      return matches;
    }, signal);
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
