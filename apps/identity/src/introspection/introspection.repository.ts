import type { Database } from '../database.ts';

/** Whom an access token is about, and since when its tokens are good. */
export interface AccessSubject {
  username: string;
  sessionsValidAfter: Date | null;
}

/** Whom a refresh token is about, and the session that it continues. */
export interface RefreshSubject {
  username: string;
  familyId: string;
}

/** Reads alone: no statement here rotates, revokes or marks anything. */
export class IntrospectionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The active identity of an access token. */
  async findAccessSubject(identityId: string): Promise<AccessSubject | undefined> {
    const rows = await this.#database.$queryRaw<AccessSubject[]>`
      SELECT username, sessions_valid_after AS "sessionsValidAfter" FROM identities
       WHERE id = ${identityId}::uuid AND deleted_at IS NULL AND is_active`;
    return rows[0];
  }

  /** The active identity and the session of a refresh token that would be exchanged now. */
  async findRefreshSubject(jti: string, sessionsValidAfter: Date): Promise<RefreshSubject | undefined> {
    const rows = await this.#database.$queryRaw<RefreshSubject[]>`
      SELECT i.username, f.id AS "familyId"
        FROM refresh_tokens t
        JOIN token_families f ON f.id = t.family_id
        JOIN identities i ON i.id = f.identity_id
       WHERE t.jti = ${jti}::uuid AND t.revoked_at IS NULL AND t.expires_at > now()
         AND f.revoked_at IS NULL AND f.expires_at > now() AND f.created_at >= ${sessionsValidAfter}::timestamptz
         AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = f.session_epoch`;
    return rows[0];
  }
}
