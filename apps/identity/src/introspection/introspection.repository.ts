import type { Database } from '../database.ts';
import type { PresentedToken } from '../tokens/refresh-token.repository.ts';

/** The subject of an access token. */
export interface AccessSubject {
  username: string;
  sessionEpoch: number;
}

/** The subject and the session of a refresh token. */
export interface RefreshSubject {
  username: string;
  familyId: string;
}

/** Read-only: introspection never rotates, revokes or marks a token. */
export class IntrospectionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns undefined unless the identity is active. */
  async findAccessSubject(identityId: string): Promise<AccessSubject | undefined> {
    const rows = await this.#database.$queryRaw<AccessSubject[]>`
      SELECT username, session_epoch AS "sessionEpoch" FROM identities
       WHERE id = ${identityId}::uuid AND deleted_at IS NULL AND is_active`;
    return rows[0];
  }

  /** Returns undefined unless the refresh token could be exchanged now. */
  async findRefreshSubject(
    { jti, sub }: PresentedToken,
    sessionsValidAfter: Date,
  ): Promise<RefreshSubject | undefined> {
    const rows = await this.#database.$queryRaw<RefreshSubject[]>`
      SELECT i.username, f.id AS "familyId"
        FROM refresh_tokens t
        JOIN token_families f ON f.id = t.family_id
        JOIN identities i ON i.id = f.identity_id
       WHERE t.jti = ${jti}::uuid AND t.revoked_at IS NULL AND t.expires_at > now()
         AND f.revoked_at IS NULL AND f.expires_at > now() AND f.created_at >= ${sessionsValidAfter}::timestamptz
         AND i.id = ${sub}::uuid AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = f.session_epoch`;
    return rows[0];
  }
}
