import type { RequestOrigin } from '@tessera/service-kit';
import { backendOf } from '../audit/audit-event.ts';
import type { Database } from '../database.ts';
import type { PasswordContext } from './password-policy.ts';

interface Account extends PasswordContext {
  /** Null also if a temporary password has expired. */
  passwordHash: string | null;
  sessionEpoch: number;
}

/** The statements of a password change. */
export class PasswordChangeRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(id: string): Promise<Account | undefined> {
    const rows = await this.#database.$queryRaw<Account[]>`
      SELECT email, username, session_epoch AS "sessionEpoch",
        CASE WHEN password_expires_at <= now() THEN NULL ELSE password_hash END AS "passwordHash"
        FROM identities WHERE id = ${id}::uuid AND deleted_at IS NULL`;
    return rows[0];
  }

  /** Counts an attempt and returns the number of attempts in the current window. */
  async countAttempt(id: string, windowSeconds: number): Promise<{ count: number; secondsLeft: number }> {
    const [row] = await this.#database.$queryRaw<{ count: number; secondsLeft: number }[]>`
      INSERT INTO sign_in_counters AS c (key, count, window_ends)
      VALUES (${counterOf(id)}, 1, now() + ${windowSeconds}::int * interval '1 second')
      ON CONFLICT (key) DO UPDATE
        SET count = CASE WHEN c.window_ends < now() THEN 1 ELSE c.count + 1 END,
            window_ends = CASE WHEN c.window_ends < now() THEN excluded.window_ends ELSE c.window_ends END
      RETURNING count, extract(epoch FROM window_ends - now())::float8 AS "secondsLeft"`;
    if (row === undefined) throw new Error('INSERT … RETURNING returned no row');
    return row;
  }

  async recordRefusal(id: string, origin: RequestOrigin): Promise<void> {
    await this.#database.$executeRaw`
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      VALUES ('identity.password_refused', 'failure', 'user', ${id}::uuid, ${origin.ip}, ${origin.userAgent},
              ${origin.requestId}, ${backendOf(origin)}::jsonb)`;
  }

  /**
   * Stores the hash, ends every session and resets the count of attempts, in one statement. Returns false if the
   * sessions ended since the epoch was read, for example by a concurrent change of the password.
   */
  async change(
    { id, passwordHash, sessionEpoch }: { id: string; passwordHash: string; sessionEpoch: number },
    origin: RequestOrigin,
  ): Promise<boolean> {
    const audited = await this.#database.$executeRaw`
      WITH changed AS (
        UPDATE identities SET password_hash = ${passwordHash}, password_expires_at = NULL,
               session_epoch = session_epoch + 1, updated_at = ${new Date()}::timestamptz
         WHERE id = ${id}::uuid AND deleted_at IS NULL AND session_epoch = ${sessionEpoch}::int
        RETURNING id
      ), forgotten AS (
        DELETE FROM sign_in_counters WHERE key = ${counterOf(id)} AND EXISTS (SELECT FROM changed)
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      SELECT 'identity.password_changed', 'success', 'user', id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
             ${backendOf(origin)}::jsonb
        FROM changed`;
    return audited > 0;
  }
}

function counterOf(id: string): string {
  return `password:${id}`;
}
