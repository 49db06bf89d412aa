import { bodyText, type JsonResponse } from '@tessera/service-kit';
import { z } from 'zod';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IdempotencyClaim } from './idempotency-key.ts';

/** A claim that was made before. */
export interface KnownClaim {
  fingerprint: string;
  /** Undefined while the request is running. */
  response: JsonResponse | undefined;
}

interface ClaimRow {
  fingerprint: string;
  status: number | null;
  headers: Record<string, string> | null;
  body: string | null;
}

/** How long a response is kept. */
const keptFor = Prisma.raw(`interval '24 hours'`);
/** After this time a request without a response counts as lost, and its claim may be taken over. */
const lostAfter = Prisma.raw(`interval '1 minute'`);
/** How long a request waits for the same one that came before it, in milliseconds. */
const waitMs = '3000';

// lock_not_available, as Prisma wraps what the driver says.
const lockTimeout = z.object({
  meta: z.object({ driverAdapterError: z.object({ cause: z.object({ originalCode: z.literal('55P03') }) }) }),
});

/** Claims of idempotency keys and the responses to them. */
export class IdempotencyRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(claim: IdempotencyClaim, within: Transaction = this.#database): Promise<KnownClaim | undefined> {
    const [row] = await within.$queryRaw<ClaimRow[]>`
      SELECT fingerprint, status, headers, body FROM idempotency_keys
       WHERE ${isClaim(claim)} AND claimed_at >= now() - ${keptFor}`;
    if (row === undefined) return undefined;
    const { fingerprint, status, headers, body } = row;
    return {
      fingerprint,
      response: status === null ? undefined : { status, headers: headers ?? {}, body: body ?? '' },
    };
  }

  /** Runs what is to happen in a transaction that a claim can be made in. */
  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run, { timeout: 10_000 });
  }

  /**
   * Makes a claim, whose unique key decides between any number at once. Where another transaction has just made the
   * same one, waits for its end: then its answer is there, or nothing of it. False where somebody has claimed before,
   * or is still at it.
   */
  async claim(claim: IdempotencyClaim, within: Transaction = this.#database): Promise<boolean> {
    const { userId, method, path, key, fingerprint } = claim;
    const rows = await within.$queryRaw<{ claimed: boolean }[]>`
      INSERT INTO idempotency_keys AS k (user_id, method, path, key, fingerprint)
      SELECT ${userId}::uuid, ${method}, ${path}, ${key}, ${fingerprint}
       WHERE set_config('lock_timeout', ${waitMs}, true) IS NOT NULL
      ON CONFLICT (user_id, method, path, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, claimed_at = now(), status = NULL, headers = NULL, body = NULL
        WHERE k.claimed_at < now() - ${keptFor} OR (k.status IS NULL AND k.claimed_at < now() - ${lostAfter})
      RETURNING true AS claimed`;
    return rows.length > 0;
  }

  /** Keeps the response to a claimed request, and deletes some that are too old. */
  async settle(
    claim: IdempotencyClaim,
    response: JsonResponse,
    within: Transaction = this.#database,
  ): Promise<void> {
    await within.$executeRaw`
      WITH outdated AS (
        DELETE FROM idempotency_keys WHERE (user_id, method, path, key) IN (
          SELECT user_id, method, path, key FROM idempotency_keys WHERE claimed_at < now() - ${keptFor}
           ORDER BY claimed_at LIMIT 20 FOR UPDATE SKIP LOCKED)
      )
      UPDATE idempotency_keys
         SET status = ${response.status}::int, headers = ${JSON.stringify(response.headers ?? {})}::jsonb,
             body = ${bodyText(response)}
       WHERE ${isClaim(claim)}`;
  }

  /** Takes a claim back: the request had no effect, and may be made again. */
  async release(claim: IdempotencyClaim): Promise<void> {
    await this.#database.$executeRaw`DELETE FROM idempotency_keys WHERE ${isClaim(claim)} AND status IS NULL`;
  }
}

/** Whether `claim` waited in vain. */
export function isStillClaiming(error: unknown): boolean {
  return lockTimeout.safeParse(error).success;
}

function isClaim({ userId, method, path, key }: IdempotencyClaim): Prisma.Sql {
  return Prisma.sql`user_id = ${userId}::uuid AND method = ${method} AND path = ${path} AND key = ${key}`;
}
