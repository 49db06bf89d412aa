import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { EndedSessions } from '../identity-mirror/identity-client.ts';

/** A session as a request sees it. The database's clock decides what has expired. */
export interface StoredSession {
  idHash: Uint8Array;
  identityId: string;
  identitySessionId: string | null;
  accessToken: Uint8Array;
  generation: number;
  /** Whether the access token has expired. */
  isExpired: boolean;
  /** Whether a refresh is due and no process is refreshing. */
  isDue: boolean;
  /** Whether a process is refreshing. */
  isRefreshing: boolean;
  /** Whether the session was last seen more than a minute ago. */
  isUnseen: boolean;
}

/** The sealed tokens of a session. */
export interface SealedTokens {
  accessToken: Uint8Array;
  refreshToken: Uint8Array;
  accessSeconds: number;
  refreshExpiresAt: Date;
}

interface NewSession {
  idHash: Uint8Array;
  identityId: string;
  identitySessionId: string | null;
  tokens: SealedTokens;
  /** Of a sign-in on identity's pages. The ID token is sealed. */
  hosted: { idToken: Uint8Array; clientId: string; ssoSessionId: string | null } | undefined;
  browser: RequestOrigin;
  /** The number of sessions that an identity keeps. Older ones end. */
  maxSessions: number;
  /** The generation of ends that was known before the sign-in began. */
  since: bigint;
}

/** A session whose refresh token this process may use until its claim expires. */
export interface ClaimedSession {
  idHash: Uint8Array;
  refreshToken: Uint8Array;
  /** The OAuth client of the tokens. */
  clientId: string | null;
}

/** A session that has ended. */
export interface EndedSession extends ClaimedSession {
  /** Sealed. */
  idToken: Uint8Array | null;
}

/** A session that this process refreshes. */
export interface ClaimedRefresh extends ClaimedSession {
  generation: number;
  /** The number of its ends at the claim. */
  ends: number;
}

/** A process that refreshes is given this long before another process takes over. Longer than a request to identity. */
const claimSeconds = 15;
// An access token is not used in its last seconds, so that it does not expire on its way.
const marginSeconds = 5;

/** Sessions of the web app. */
export class WebSessionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the generation of the latest end of sessions. Each later end has a higher one. */
  async findGeneration(): Promise<bigint> {
    const [row] = await this.#database.$queryRaw<{ generation: bigint }[]>`
      SELECT coalesce(max(generation), 0) AS generation FROM session_ends`;
    return row?.generation ?? 0n;
  }

  /**
   * Inserts a session, and ends the oldest sessions of the identity beyond the maximum. If sessions of the identity have
   * ended since the sign-in began, this one may be among them: its next request refreshes it first. The lock of the row in
   * `session_ends` makes an end either visible here or wait for this session.
   */
  async insert({
    idHash,
    identityId,
    identitySessionId,
    tokens,
    hosted,
    browser,
    maxSessions,
    since,
  }: NewSession): Promise<void> {
    const { accessToken, refreshToken, accessSeconds, refreshExpiresAt } = tokens;
    await this.#database.$executeRaw`
      WITH excess AS (
        UPDATE web_sessions SET revoke_pending = true, refreshing_until = NULL WHERE id_hash IN (
          SELECT id_hash FROM web_sessions WHERE identity_id = ${identityId}::uuid AND NOT revoke_pending
           ORDER BY created_at DESC OFFSET ${maxSessions - 1}
        )
      ), latest AS (
        INSERT INTO session_ends (identity_id, generation) VALUES (${identityId}::uuid, 0)
        ON CONFLICT (identity_id) DO UPDATE SET identity_id = excluded.identity_id
        RETURNING generation > ${since} AS has_ended
      )
      INSERT INTO web_sessions (id_hash, identity_id, identity_session_id, access_token, refresh_token,
        access_expires_at, refresh_at, expires_at, address, user_agent, client_id, sso_session_id, id_token)
      SELECT ${idHash}::bytea, ${identityId}::uuid, ${identitySessionId}::uuid, ${accessToken}::bytea, ${refreshToken}::bytea,
        now() + CASE WHEN has_ended THEN 0 ELSE ${usableSeconds(accessSeconds)}::float8 END * interval '1 second',
        now() + CASE WHEN has_ended THEN 0 ELSE ${accessSeconds / 2}::float8 END * interval '1 second',
        ${refreshExpiresAt}::timestamptz, ${browser.ip.slice(0, 64)}, ${browser.userAgent},
        ${hosted?.clientId ?? null}::uuid, ${hosted?.ssoSessionId ?? null}, ${hosted?.idToken ?? null}::bytea FROM latest`;
  }

  async find(idHash: Uint8Array): Promise<StoredSession | undefined> {
    const [row] = await this.#database.$queryRaw<StoredSession[]>`
      SELECT id_hash AS "idHash", identity_id AS "identityId", identity_session_id AS "identitySessionId",
        access_token AS "accessToken", generation, access_expires_at <= now() AS "isExpired",
        refresh_at <= now() AND coalesce(refreshing_until <= now(), true) AS "isDue",
        coalesce(refreshing_until > now(), false) AS "isRefreshing",
        last_seen_at < now() - interval '1 minute' AS "isUnseen"
        FROM web_sessions WHERE id_hash = ${idHash} AND NOT revoke_pending AND expires_at > now()`;
    return row;
  }

  /** Records the use of a session, at most once a minute. */
  async touch(idHash: Uint8Array, { ip, userAgent }: RequestOrigin): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE web_sessions SET last_seen_at = now(), address = ${ip.slice(0, 64)}, user_agent = ${userAgent}
       WHERE id_hash = ${idHash} AND last_seen_at < now() - interval '1 minute'`;
  }

  /** Claims the refresh of a session. If several calls run concurrently, one returns the refresh token. */
  async claimRefresh({ idHash, generation }: StoredSession): Promise<ClaimedRefresh | undefined> {
    const [row] = await this.#database.$queryRaw<ClaimedRefresh[]>`
      UPDATE web_sessions SET refreshing_until = now() + ${claimSeconds} * interval '1 second'
       WHERE id_hash = ${idHash} AND generation = ${generation} AND NOT revoke_pending
         AND refresh_at <= now() AND coalesce(refreshing_until <= now(), true)
      RETURNING id_hash AS "idHash", refresh_token AS "refreshToken", client_id AS "clientId", generation, ends`;
    return row;
  }

  /**
   * Stores the tokens of a refresh. Also stores those of a session that has ended meanwhile: revoking any token of a
   * session ends it. If sessions of the identity have ended at identity since the claim, the access token is not used: it
   * may be one of before.
   */
  async storeRefresh({ idHash, generation, ends }: ClaimedRefresh, tokens: SealedTokens): Promise<void> {
    const { accessToken, refreshToken, accessSeconds, refreshExpiresAt } = tokens;
    await this.#database.$executeRaw`
      UPDATE web_sessions SET access_token = ${accessToken}, refresh_token = ${refreshToken},
        access_expires_at = now() + CASE WHEN ends = ${ends} THEN ${usableSeconds(accessSeconds)}::float8 ELSE 0 END * interval '1 second',
        refresh_at = now() + CASE WHEN ends = ${ends} THEN ${accessSeconds / 2}::float8 ELSE 0 END * interval '1 second',
        expires_at = ${refreshExpiresAt}::timestamptz,
        generation = generation + 1, refreshing_until = CASE WHEN revoke_pending THEN refreshing_until END
       WHERE id_hash = ${idHash} AND generation = ${generation}`;
  }

  /** Ends the claim of a refresh that failed; the next one may start after the given time. */
  async postponeRefresh({ idHash, generation }: StoredSession, seconds: number): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE web_sessions SET refreshing_until = NULL, refresh_at = now() + ${seconds} * interval '1 second'
       WHERE id_hash = ${idHash} AND generation = ${generation} AND NOT revoke_pending`;
  }

  /** Deletes a session whose refresh token identity has refused. */
  async deleteRefused({ idHash, generation }: StoredSession): Promise<void> {
    await this.#database.$executeRaw`
      DELETE FROM web_sessions WHERE id_hash = ${idHash} AND generation = ${generation}`;
  }

  /** Ends a session at once. Its tokens stay until they are revoked at identity. */
  async end(idHash: Uint8Array): Promise<EndedSession | undefined> {
    const [row] = await this.#database.$queryRaw<EndedSession[]>`
      UPDATE web_sessions SET revoke_pending = true, refreshing_until = now() + ${claimSeconds} * interval '1 second'
       WHERE id_hash = ${idHash} AND NOT revoke_pending
      RETURNING id_hash AS "idHash", refresh_token AS "refreshToken", client_id AS "clientId", id_token AS "idToken"`;
    return row;
  }

  /** Ends the sessions of one sign-in of a browser at identity. Their tokens stay until they are revoked. */
  async endSignIn(ssoSessionId: string, clientId: string): Promise<number> {
    return this.#database.$executeRaw`
      UPDATE web_sessions SET revoke_pending = true, refreshing_until = NULL
       WHERE sso_session_id = ${ssoSessionId} AND client_id = ${clientId}::uuid AND NOT revoke_pending`;
  }

  /** Claims ended sessions whose refresh tokens are to be revoked, the oldest first. */
  async claimPending(limit: number): Promise<ClaimedSession[]> {
    return this.#database.$queryRaw<ClaimedSession[]>`
      UPDATE web_sessions SET refreshing_until = now() + interval '1 minute' WHERE id_hash IN (
        SELECT id_hash FROM web_sessions
         WHERE revoke_pending AND coalesce(refreshing_until <= now(), true) AND expires_at > now()
         ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) RETURNING id_hash AS "idHash", refresh_token AS "refreshToken", client_id AS "clientId"`;
  }

  /** Deletes an ended session, which has been revoked at identity. */
  async deleteEnded(idHash: Uint8Array): Promise<void> {
    await this.#database.$executeRaw`DELETE FROM web_sessions WHERE id_hash = ${idHash} AND revoke_pending`;
  }

  /**
   * Expires the access tokens of sessions that have ended at identity, so that their next request is refused by a refresh. A
   * later session of the same identity is refreshed and goes on.
   */
  async expireEnded(ended: readonly EndedSessions[]): Promise<void> {
    if (ended.length === 0) return;
    const rows = Prisma.sql`unnest(${ended.map((one) => one.identity_id)}::uuid[],
      ${ended.map((one) => one.session_id)}::uuid[]) AS e(identity_id, session_id)`;
    await this.#database.$transaction(async (transaction) => {
      // First, and with a lock: a session of before is visible to the second statement, a later one compares.
      await transaction.$executeRaw`
        INSERT INTO session_ends (identity_id, generation)
        SELECT identity_id, nextval(pg_get_serial_sequence('session_ends', 'generation'))
          FROM (SELECT DISTINCT identity_id FROM ${rows} ORDER BY identity_id) ends
        ON CONFLICT (identity_id) DO UPDATE SET generation = excluded.generation`;
      await transaction.$executeRaw`
        UPDATE web_sessions s SET access_expires_at = now(), refresh_at = now(), ends = s.ends + 1
          FROM (SELECT DISTINCT s.id_hash FROM web_sessions s, ${rows}
                 WHERE s.identity_id = e.identity_id
                   AND (e.session_id IS NULL OR s.identity_session_id IS NULL OR s.identity_session_id = e.session_id)) ended
         WHERE s.id_hash = ended.id_hash`;
    });
  }

  /** Deletes the identity's sessions that identity has revoked: one, or all. */
  async deleteRevoked(identityId: string, identitySessionId: string | undefined): Promise<void> {
    await this.#database.$executeRaw`
      DELETE FROM web_sessions WHERE identity_id = ${identityId}::uuid
        AND (${identitySessionId ?? null}::uuid IS NULL OR identity_session_id = ${identitySessionId ?? null}::uuid)`;
  }
}

// A token with a very short life is used for half of it.
function usableSeconds(accessSeconds: number): number {
  return Math.max(accessSeconds - marginSeconds, accessSeconds / 2);
}
