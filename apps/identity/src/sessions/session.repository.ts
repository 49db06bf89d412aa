import type { RequestOrigin } from '@tessera/service-kit';
import { backendOf } from '../audit/audit-event.ts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Session, SessionPosition } from './session.ts';

interface SessionReference {
  identityId: string;
  sessionId: string;
  /** Sessions that started earlier are invalid (SESSIONS_VALID_AFTER). */
  sessionsValidAfter: Date;
}

interface ListOptions {
  limit: number;
  /** The last session of the previous page. */
  after: SessionPosition | undefined;
  sessionsValidAfter: Date;
}

/** Lists and revokes sessions. A session is a token family. */
export class SessionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns active sessions, newest first, or undefined if the identity does not exist. */
  async list(
    identityId: string,
    { limit, after, sessionsValidAfter }: ListOptions,
  ): Promise<Session[] | undefined> {
    const rows = await this.#database.$queryRaw<(Session | { id: null })[]>`
      SELECT s.id, s.created_at AS "createdAt", s.last_used_at AS "lastUsedAt", s.expires_at AS "expiresAt",
        s.idle_expires_at AS "idleExpiresAt", s.created_ip AS "createdIp", s.user_agent AS "userAgent"
        FROM identities i
        LEFT JOIN LATERAL (
          SELECT f.*, t.expires_at AS idle_expires_at FROM token_families f, refresh_tokens t
           WHERE f.identity_id = i.id AND ${isActiveSession(sessionsValidAfter)} AND ${isAfterPosition(after)}
           ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}
        ) s ON true
       WHERE i.id = ${identityId}::uuid AND i.deleted_at IS NULL
       ORDER BY s.created_at DESC, s.id DESC`;
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }

  /** Counts the sessions that are neither revoked nor past their absolute end. Includes idle sessions. */
  async count(): Promise<number> {
    const [row] = await this.#database.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM token_families f JOIN identities i ON i.id = f.identity_id
       WHERE f.revoked_at IS NULL AND f.expires_at > now()
         AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = f.session_epoch`;
    return row?.count ?? 0;
  }

  /** Revokes an active session. If two calls run concurrently, one returns `no_session`. */
  async revoke(
    { identityId, sessionId, sessionsValidAfter }: SessionReference,
    origin: RequestOrigin,
  ): Promise<'revoked' | 'no_session' | 'no_identity'> {
    const rows = await this.#database.$queryRaw<{ revoked: boolean }[]>`
      WITH owner AS (
        SELECT * FROM identities WHERE id = ${identityId}::uuid AND deleted_at IS NULL
      ), revoked AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = 'revoked_by_service'
          FROM owner i, refresh_tokens t
         WHERE f.id = ${sessionId}::uuid AND f.identity_id = i.id AND ${isActiveSession(sessionsValidAfter)}
        RETURNING f.id, f.identity_id
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'family.revoked', 'success', 'service', identity_id, ${origin.ip}, ${origin.userAgent},
               ${origin.requestId},
               ${backendOf(origin)}::jsonb || jsonb_build_object('family', id, 'reason', 'revoked_by_service')
          FROM revoked
      )
      SELECT EXISTS (SELECT FROM revoked) AS revoked FROM owner`;
    const [row] = rows;
    if (row === undefined) return 'no_identity';
    return row.revoked ? 'revoked' : 'no_session';
  }

  /**
   * Ends every session and every issued access token by a new session epoch. Returns false if the identity does not
   * exist.
   */
  async revokeAll(identityId: string, origin: RequestOrigin): Promise<boolean> {
    const audited = await this.#database.$executeRaw`
      WITH ended AS (
        UPDATE identities SET session_epoch = session_epoch + 1
         WHERE id = ${identityId}::uuid AND deleted_at IS NULL
        RETURNING id
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      SELECT 'sessions.revoked', 'success', 'service', id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
             ${backendOf(origin)}::jsonb
        FROM ended`;
    return audited > 0;
  }
}

/** The conditions of a rotation, for family `f`, its unused token `t` and identity `i`. */
function isActiveSession(sessionsValidAfter: Date): Prisma.Sql {
  return Prisma.sql`f.revoked_at IS NULL AND f.expires_at > now() AND f.session_epoch = i.session_epoch
    AND f.created_at >= ${sessionsValidAfter}::timestamptz AND i.is_active
    AND t.family_id = f.id AND t.revoked_at IS NULL AND t.expires_at > now()`;
}

function isAfterPosition(position: SessionPosition | undefined): Prisma.Sql {
  return position === undefined
    ? Prisma.sql`true`
    : Prisma.sql`(f.created_at, f.id) < (${position.createdAt}::timestamptz, ${position.id}::uuid)`;
}
