import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { TokenSubject } from './token-issuer.ts';

/** The claims that a presented refresh token is looked up by. A token matches only with the identity of its family. */
export interface PresentedToken {
  jti: string;
  sub: string;
}

/** What a sign-in has granted to a client, as its family keeps it. */
export interface ClientGrant {
  clientId: string;
  ssoSessionId: string;
  scope: readonly string[];
  /** The audience of the access tokens, if the client asked for one. */
  resource: string | null;
  authTime: Date;
  amr: readonly string[];
  acr: string;
}

/** Who presents a token. A token is only accepted from the client of its family; null is the password grant. */
export interface TokenHolder {
  clientId: string | null;
  /** The scope that a client asks for; undefined for that of the family. */
  scope?: readonly string[] | undefined;
  /** The audience that it asks for; undefined for that of the family. */
  resource?: string | undefined;
}

export interface Rotation extends PresentedToken {
  holder: TokenHolder;
  nextJti: string;
  /** The end of the successor. The family's absolute end limits it. */
  nextExpiresAt: Date;
  /** Sessions that started earlier are invalid (SESSIONS_VALID_AFTER). */
  sessionsValidAfter: Date;
  origin: RequestOrigin;
}

export interface RotatedToken {
  subject: ClientSubject;
  expiresAt: Date;
  /** Null for the password grant. */
  grant: ClientGrant | null;
}

/** The identity of a token, with the name that clients show. */
export interface ClientSubject extends TokenSubject {
  displayName: string | null;
}

export type RefusalReason =
  | 'unknown'
  | 'expired'
  | 'revoked'
  | 'reuse_in_leeway'
  | 'reuse_detected'
  | 'identity_gone'
  | 'wider_scope'
  | 'other_resource';

type SubjectRow = ClientSubject & { expiresAt: Date } & (ClientGrant | { clientId: null });

const passwordGrant: TokenHolder = { clientId: null };

/** Rotates and revokes refresh tokens (docs/spec/identity-service.md 2.5, 3.2). */
export class RefreshTokenRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Revokes the presented token and inserts its successor in one statement. If several calls run concurrently, exactly
   * one finds `revoked_at IS NULL`; the others wait for the row lock and then match no row. Returns undefined if the
   * token cannot be rotated. One statement takes one round trip; an interactive transaction would take four.
   */
  async rotate(rotation: Rotation): Promise<RotatedToken | undefined> {
    const { jti, sub, nextJti, nextExpiresAt, sessionsValidAfter, origin } = rotation;
    const { clientId, scope = null, resource = null } = rotation.holder;
    const rows = await this.#database.$queryRaw<SubjectRow[]>`
      WITH rotated AS (
        UPDATE refresh_tokens t SET revoked_at = clock_timestamp(), replaced_by = ${nextJti}::uuid
          FROM token_families f, identities i
         WHERE t.jti = ${jti}::uuid AND t.revoked_at IS NULL AND t.expires_at > now()
           AND f.id = t.family_id AND f.revoked_at IS NULL AND f.expires_at > now()
           AND f.created_at >= ${sessionsValidAfter}::timestamptz
           AND f.client_id IS NOT DISTINCT FROM ${clientId}::uuid
           AND (${scope}::text[] IS NULL OR f.scope @> ${scope}::text[])
           AND (${resource}::text IS NULL OR f.resource = ${resource})
           AND i.id = f.identity_id AND i.id = ${sub}::uuid AND i.deleted_at IS NULL AND i.is_active
           AND i.session_epoch = f.session_epoch
        RETURNING t.family_id, t.generation, f.expires_at AS family_expires_at,
          f.client_id, f.sso_session_id, f.scope, f.resource, f.auth_time, f.amr, f.acr,
          i.id, i.email, i.username, i.display_name, i.is_verified, i.is_staff, i.is_superuser, i.session_epoch
      ), successor AS (
        INSERT INTO refresh_tokens (jti, family_id, generation, expires_at)
        SELECT ${nextJti}::uuid, family_id, generation + 1, least(${nextExpiresAt}::timestamptz, family_expires_at)
          FROM rotated
        RETURNING expires_at
      ), touched AS (
        UPDATE token_families f SET last_used_at = now() FROM rotated WHERE f.id = rotated.family_id
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'refresh.rotated', 'success', 'user', id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
               jsonb_strip_nulls(jsonb_build_object('family', family_id, 'client', client_id))
          FROM rotated
      )
      SELECT id, email, username, display_name AS "displayName", is_verified AS "isVerified", is_staff AS "isStaff",
             is_superuser AS "isSuperuser", session_epoch AS "sessionEpoch", expires_at AS "expiresAt",
             client_id AS "clientId", sso_session_id AS "ssoSessionId", scope, resource, auth_time AS "authTime", amr, acr
        FROM rotated, successor`;
    const [row] = rows;
    if (row === undefined) return undefined;
    return { subject: row, expiresAt: row.expiresAt, grant: row.clientId === null ? null : row };
  }

  /**
   * Finds the reason why a token was not rotated, and revokes or marks its family in the same statement. Reuse within
   * the leeway, while the direct successor is unused, marks the family as suspect. Any other reuse revokes the family
   * (RFC 9700 4.14.2). Ages are computed with the database clock only.
   *
   * A refusal is written to the audit trail only if it changes the family: the mark, the revocation, or the first token
   * that is refused after the session has ended. So repeating a refused token stores nothing. Parallel calls wait for the
   * family's row and then find it changed. A token at another client than its own is unknown, and changes nothing.
   */
  async recordRefusal(
    { jti, sub }: PresentedToken,
    {
      leewaySeconds,
      origin,
      holder = passwordGrant,
    }: { leewaySeconds: number; origin: RequestOrigin; holder?: TokenHolder },
  ): Promise<RefusalReason> {
    const { clientId, scope = null, resource = null } = holder;
    const rows = await this.#database.$queryRaw<{ reason: RefusalReason }[]>`
      WITH presented AS (
        SELECT t.family_id,
          CASE
            WHEN f.revoked_at IS NOT NULL THEN 'revoked'
            WHEN i.deleted_at IS NOT NULL OR NOT i.is_active OR i.session_epoch <> f.session_epoch
              THEN 'identity_gone'
            WHEN t.revoked_at IS NULL AND t.expires_at > now() AND NOT f.scope @> ${scope}::text[] THEN 'wider_scope'
            WHEN t.revoked_at IS NULL AND t.expires_at > now() AND ${resource}::text <> coalesce(f.resource, '')
              THEN 'other_resource'
            WHEN t.replaced_by IS NULL THEN CASE WHEN t.revoked_at IS NULL THEN 'expired' ELSE 'revoked' END
            WHEN s.revoked_at IS NULL
              AND extract(epoch FROM clock_timestamp() - t.revoked_at) <= ${leewaySeconds}::int
              THEN 'reuse_in_leeway'
            ELSE 'reuse_detected'
          END AS reason
          FROM refresh_tokens t
          JOIN token_families f ON f.id = t.family_id
          JOIN identities i ON i.id = f.identity_id
          LEFT JOIN refresh_tokens s ON s.jti = t.replaced_by
         WHERE t.jti = ${jti}::uuid AND f.identity_id = ${sub}::uuid
           AND f.client_id IS NOT DISTINCT FROM ${clientId}::uuid
      ), marked AS (
        UPDATE token_families f SET suspect_at = now()
          FROM presented p
         WHERE f.id = p.family_id AND p.reason = 'reuse_in_leeway' AND f.suspect_at IS NULL AND f.revoked_at IS NULL
        RETURNING f.id, f.identity_id, p.reason
      ), revoked AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = p.reason, refused_at = now()
          FROM presented p
         WHERE f.id = p.family_id AND p.reason IN ('identity_gone', 'reuse_detected') AND f.revoked_at IS NULL
        RETURNING f.id, f.identity_id, p.reason
      ), ended AS (
        UPDATE token_families f SET refused_at = now()
          FROM presented p
         WHERE f.id = p.family_id AND p.reason IN ('expired', 'revoked') AND f.refused_at IS NULL
        RETURNING f.id, f.identity_id, p.reason
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT CASE WHEN reason LIKE 'reuse%' THEN 'refresh.' || reason ELSE 'refresh.refused' END, 'failure',
               'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
               jsonb_build_object('family', id, 'reason', reason)
          FROM (TABLE marked UNION ALL TABLE revoked UNION ALL TABLE ended) AS changed
      )
      SELECT reason FROM presented`;
    return rows[0]?.reason ?? 'unknown';
  }

  /** Revokes the family of a refresh token (RFC 7009 2.1). Does nothing for an unknown token. */
  async revokeFamilyOf(
    { jti, sub }: PresentedToken,
    origin: RequestOrigin,
    { clientId } = passwordGrant,
  ): Promise<void> {
    await this.#database.$executeRaw`
      WITH revoked AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = 'revoked_by_holder'
          FROM refresh_tokens t
         WHERE t.jti = ${jti}::uuid AND f.id = t.family_id AND f.identity_id = ${sub}::uuid
           AND f.client_id IS NOT DISTINCT FROM ${clientId}::uuid AND f.revoked_at IS NULL
        RETURNING f.id, f.identity_id
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      SELECT 'family.revoked', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
             jsonb_build_object('family', id)
        FROM revoked`;
  }
}
