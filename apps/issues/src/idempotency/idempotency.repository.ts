import pg from 'pg';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isReferredTo } from '../issue-store/issue.sql.ts';

/** A request with an `Idempotency-Key`. Its user, operation, issue and key identify it. */
export interface IdempotencyRequest {
  userId: string;
  method: string;
  /** The operation's path, with `:id` for the issue and without the trailing slash. */
  path: string;
  /** The id or the number of the issue, as in the path. */
  issue: IssueReference | undefined;
  key: string;
  /** Hash of the parsed body. Reusing a key with a different body is an error. */
  fingerprint: string;
}

/** The stored part of a response. Its size is limited, so that idempotency keys cannot fill the disk. */
export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  /** The id of the issue, comment or label in the response. A replay reads its current state. */
  resourceId: string | null;
  /** JSON text of the body of a refusal, or of a response without a resource. */
  body: string | null;
}

/** A request whose key has been reserved. */
export interface ReservedRequest {
  fingerprint: string;
  /** Undefined while the request is running. */
  response: StoredResponse | undefined;
}

interface ReservationRow {
  fingerprint: string;
  status: number | null;
  headers: Record<string, string> | null;
  resourceId: string | null;
  body: string | null;
}

/** How long a response is stored. */
const retention = Prisma.raw(`interval '24 hours'`);
/** A reservation without a response expires after this time: its process has died. */
const reservationTimeout = Prisma.raw(`interval '1 minute'`);
/** How long a request waits for a concurrent request with the same key, in milliseconds. */
const lockTimeoutMs = '3000';

const lockNotAvailable = '55P03';

/** Reserved idempotency keys and their stored responses. */
export class IdempotencyRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(
    request: IdempotencyRequest,
    within: Transaction = this.#database,
  ): Promise<ReservedRequest | undefined> {
    const [row] = await within.$queryRaw<ReservationRow[]>`
      SELECT fingerprint, status, headers, resource_id AS "resourceId", body FROM idempotency_keys
       WHERE ${matches(request)} AND claimed_at >= now() - ${retention}`;
    if (row === undefined) return undefined;
    const { fingerprint, status, headers, resourceId, body } = row;
    return {
      fingerprint,
      response: status === null ? undefined : { status, headers: headers ?? {}, resourceId, body },
    };
  }

  /** Runs a function in one transaction, which the other methods accept as `within`. */
  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run, { timeout: 10_000 });
  }

  /**
   * Reserves the key; false if it is already reserved. If a concurrent transaction is reserving the same key, waits for
   * it to end, and throws when the lock timeout expires (see {@link isLockTimeout}).
   */
  async reserve(request: IdempotencyRequest, within: Transaction = this.#database): Promise<boolean> {
    const { userId, method, key, fingerprint } = request;
    const rows = await within.$queryRaw<{ reserved: boolean }[]>`
      INSERT INTO idempotency_keys AS k (user_id, method, path, key, fingerprint)
      SELECT ${userId}::uuid, ${method}, ${pathOf(request)}, ${key}, ${fingerprint}
       WHERE set_config('lock_timeout', ${lockTimeoutMs}, true) IS NOT NULL
      ON CONFLICT (user_id, method, path, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, claimed_at = now(), status = NULL, headers = NULL,
            resource_id = NULL, body = NULL
        WHERE k.claimed_at < now() - ${retention} OR (k.status IS NULL AND k.claimed_at < now() - ${reservationTimeout})
      RETURNING true AS reserved`;
    return rows.length > 0;
  }

  /** Stores the response to a reserved request, and deletes up to 20 expired rows. */
  async storeResponse(
    request: IdempotencyRequest,
    response: StoredResponse,
    within: Transaction = this.#database,
  ): Promise<void> {
    await within.$executeRaw`
      WITH expired AS (
        DELETE FROM idempotency_keys WHERE (user_id, method, path, key) IN (
          SELECT user_id, method, path, key FROM idempotency_keys WHERE claimed_at < now() - ${retention}
           ORDER BY claimed_at LIMIT 20 FOR UPDATE SKIP LOCKED)
      )
      UPDATE idempotency_keys
         SET status = ${response.status}::int, headers = ${JSON.stringify(response.headers)}::jsonb,
             resource_id = ${response.resourceId}::uuid, body = ${response.body}
       WHERE ${matches(request)}`;
  }

  /** Deletes the reservation of a request that had no effect, so that the client can retry it. */
  async release(request: IdempotencyRequest): Promise<void> {
    await this.#database
      .$executeRaw`DELETE FROM idempotency_keys WHERE ${matches(request)} AND status IS NULL`;
  }
}

/** Whether `reserve` failed because it waited too long for a concurrent request. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === lockNotAvailable;
}

function matches(request: IdempotencyRequest): Prisma.Sql {
  const { userId, method, key } = request;
  return Prisma.sql`
    user_id = ${userId}::uuid AND method = ${method} AND path = ${pathOf(request)} AND key = ${key}`;
}

// Contains the issue's id, so a retry can use the id or the number of the same issue.
function pathOf({ path, issue }: IdempotencyRequest): Prisma.Sql {
  if (issue === undefined) return Prisma.sql`${path}`;
  if ('id' in issue) return Prisma.sql`${path.replace(':id', issue.id)}`;
  const id = Prisma.sql`(SELECT i.id::text FROM issues i WHERE ${isReferredTo(issue)})`;
  return Prisma.sql`replace(${path}, ':id', coalesce(${id}, ${`${issue.prefix ?? ''}${issue.number}`}))`;
}
