import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { ClientGrant, ClientSubject } from '../tokens/refresh-token.repository.ts';

/** A code that a client presents, and the family that its exchange opens. */
export interface CodeExchange {
  codeHash: Uint8Array;
  /** The person that the code names. */
  identityId: string;
  clientId: string;
  redirectUri: string;
  /** The challenge of the presented verifier; null without one. */
  codeChallenge: string | null;
  /** The audience that the client asks for; undefined for the one of the code. */
  resource: string | undefined;
  familyId: string;
  jti: string;
  refreshExpiresAt: Date;
  familyExpiresAt: Date;
  sessionsValidAfter: Date;
}

export interface ExchangedCode {
  subject: ClientSubject;
  grant: ClientGrant;
  nonce: string | null;
}

type CodeRow = ClientSubject & ClientGrant & { nonce: string | null };

/** Exchanges codes for token families. */
export class AuthorizationCodeRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Uses the code and opens its family in one statement. If several calls run concurrently, exactly one finds `used_at IS NULL`;
   * the others wait for the row lock and then match no row. A challenge and a verifier are compared also if one of them is
   * missing, so that neither side can leave PKCE out (RFC 9700 2.1.1).
   */
  async exchange(exchange: CodeExchange, origin: RequestOrigin): Promise<ExchangedCode | undefined> {
    const { codeHash, identityId, clientId, redirectUri, codeChallenge, familyId, sessionsValidAfter } =
      exchange;
    const { resource = null } = exchange;
    const rows = await this.#database.$queryRaw<CodeRow[]>`
      WITH used AS (
        UPDATE authorization_codes c SET used_at = now(), family_id = ${familyId}::uuid
          FROM identities i, sso_sessions s
         WHERE c.code_hash = ${codeHash} AND c.used_at IS NULL AND c.expires_at > now()
           AND c.identity_id = ${identityId}::uuid AND c.client_id = ${clientId}::uuid AND c.redirect_uri = ${redirectUri}
           AND c.code_challenge IS NOT DISTINCT FROM ${codeChallenge}
           AND (${resource}::text IS NULL OR c.resource = ${resource})
           AND c.created_at >= ${sessionsValidAfter}::timestamptz
           AND s.id = c.sso_session_id AND s.ended_at IS NULL
           AND i.id = c.identity_id AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = c.session_epoch
        RETURNING c.*, i.email, i.username, i.display_name, i.is_verified, i.is_staff, i.is_superuser
      ), opened AS (
        INSERT INTO token_families (id, identity_id, session_epoch, expires_at, created_ip, user_agent,
                                    client_id, sso_session_id, scope, resource, auth_time, amr, acr)
        SELECT ${familyId}::uuid, identity_id, session_epoch, ${exchange.familyExpiresAt}::timestamptz,
               ${origin.ip}, ${origin.userAgent}, client_id, sso_session_id, scope, resource, auth_time, amr, acr
          FROM used
        RETURNING id
      ), issued AS (
        INSERT INTO refresh_tokens (jti, family_id, generation, expires_at)
        SELECT ${exchange.jti}::uuid, id, 1, ${exchange.refreshExpiresAt}::timestamptz FROM opened
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'token.issued', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
               jsonb_build_object('family', family_id, 'client', client_id)
          FROM used
      )
      SELECT identity_id AS id, email, username, display_name AS "displayName", is_verified AS "isVerified",
             is_staff AS "isStaff", is_superuser AS "isSuperuser", session_epoch AS "sessionEpoch",
             client_id AS "clientId", sso_session_id AS "ssoSessionId", scope, resource, auth_time AS "authTime",
             amr, acr, nonce
        FROM used`;
    const [row] = rows;
    return row === undefined ? undefined : { subject: row, grant: row, nonce: row.nonce };
  }

  /** Ends the family of a code that was used before (RFC 6749 4.1.2). Returns the reason of a refusal that the client may know. */
  async recordRefusal(
    { codeHash, clientId, resource }: Pick<CodeExchange, 'codeHash' | 'clientId' | 'resource'>,
    origin: RequestOrigin,
  ): Promise<'reused' | 'other_resource' | undefined> {
    const rows = await this.#database.$queryRaw<{ reason: 'reused' | 'other_resource' }[]>`
      WITH presented AS (
        SELECT family_id, used_at, ${resource ?? null}::text <> coalesce(resource, '') AS differs FROM authorization_codes
         WHERE code_hash = ${codeHash} AND client_id = ${clientId}::uuid
      ), reused AS (
        SELECT family_id FROM presented WHERE used_at IS NOT NULL
      ), ended AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = 'code_reused', refused_at = now()
          FROM reused WHERE f.id = reused.family_id AND f.revoked_at IS NULL
        RETURNING f.id, f.identity_id, f.client_id
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'code.reuse_detected', 'failure', 'user', identity_id, ${origin.ip}, ${origin.userAgent},
               ${origin.requestId}, jsonb_build_object('family', id, 'client', client_id)
          FROM ended
      )
      SELECT CASE WHEN used_at IS NOT NULL THEN 'reused' ELSE 'other_resource' END AS reason
        FROM presented WHERE used_at IS NOT NULL OR differs`;
    return rows[0]?.reason;
  }
}
