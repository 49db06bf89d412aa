import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

/** The session of a browser and its person. */
export interface SsoSession {
  id: string;
  identityId: string;
  email: string;
}

/** Which session ends: that of the cookie, and that of an ID token of the same person. */
interface EndOptions {
  tokenHash: Uint8Array | null;
  hint: { sub: string; sid: string } | null;
}

/** Reads and ends the sign-ins of browsers. Opening one is part of a sign-in. */
export class SsoSessionRepository {
  readonly #database: Database;
  readonly #sessionsValidAfter: Date;

  constructor(database: Database, { sessionsValidAfter }: { sessionsValidAfter: Date }) {
    this.#database = database;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  async find(tokenHash: Uint8Array): Promise<SsoSession | undefined> {
    const rows = await this.#database.$queryRaw<SsoSession[]>`
      SELECT s.id, i.id AS "identityId", i.email FROM sso_sessions s JOIN identities i ON i.id = s.identity_id
       WHERE s.token_hash = ${tokenHash} AND s.ended_at IS NULL AND s.idle_expires_at > now() AND s.expires_at > now()
         AND s.created_at >= ${this.#sessionsValidAfter}::timestamptz
         AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = s.session_epoch`;
    return rows[0];
  }

  /** Whether the sign-in of an ID token has not ended. Its applications may be signed in for longer than its browser. */
  async isOpen({ sid, sub }: { sid: string; sub: string }): Promise<boolean> {
    const rows = await this.#database.$queryRaw<unknown[]>`
      SELECT 1 FROM sso_sessions s JOIN identities i ON i.id = s.identity_id AND i.session_epoch = s.session_epoch
       WHERE s.id = ${sid}::uuid AND s.identity_id = ${sub}::uuid AND s.ended_at IS NULL`;
    return rows.length > 0;
  }

  /**
   * Ends a session and the token families of its clients, and writes a logout token for each client that wants one, in one
   * statement.
   */
  async end({ tokenHash, hint }: EndOptions, origin: RequestOrigin): Promise<void> {
    await this.#database.$executeRaw`
      WITH ${endSessions(Prisma.sql`token_hash = ${tokenHash}
            OR (id = ${hint?.sid ?? null}::uuid AND identity_id = ${hint?.sub ?? null}::uuid)`)}
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      ${endedSessions(origin)}`;
  }
}

/**
 * The steps of a statement that end the sessions of a condition wholly: with the token families of their clients, and a logout
 * token for each client that wants one. The clients of sessions that have ended with all of the person were told then.
 */
export function endSessions(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`ended AS (
        UPDATE sso_sessions SET ended_at = now() WHERE ended_at IS NULL AND (${condition})
        RETURNING id, identity_id
      ), revoked AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = 'signed_out'
          FROM ended WHERE f.sso_session_id = ended.id AND f.revoked_at IS NULL
      ), told AS (
        INSERT INTO logout_deliveries (client_id, identity_id, sid)
        SELECT DISTINCT c.id, f.identity_id, f.sso_session_id
          FROM ended JOIN token_families f ON f.sso_session_id = ended.id JOIN oauth_clients c ON c.id = f.client_id
          JOIN identities i ON i.id = f.identity_id AND i.session_epoch = f.session_epoch
         WHERE f.revoked_at IS NULL AND f.expires_at > now()
           AND c.backchannel_logout_uri IS NOT NULL AND c.disabled_at IS NULL
        RETURNING 1
      )`;
}

/** The audit events of these steps. */
export function endedSessions(origin: RequestOrigin): Prisma.Sql {
  return Prisma.sql`SELECT 'sso.ended', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
             jsonb_build_object('session', id)
        FROM ended`;
}
