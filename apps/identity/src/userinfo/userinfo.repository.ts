import type { Database } from '../database.ts';

/** What userinfo tells, and what it needs to know whether the token is still good. */
export interface UserInfoSubject {
  id: string;
  email: string;
  username: string;
  isVerified: boolean;
  sessionsValidAfter: Date | null;
}

export class UserInfoRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The active identity behind a token, or undefined. Raw SQL because this is the hottest read: the same statement
   * through Prisma's model query has half the throughput.
   */
  async findSubject(id: string): Promise<UserInfoSubject | undefined> {
    const rows = await this.#database.$queryRaw<UserInfoSubject[]>`
      SELECT id, email, username, is_verified AS "isVerified", sessions_valid_after AS "sessionsValidAfter"
        FROM identities WHERE id = ${id}::uuid AND deleted_at IS NULL AND is_active`;
    return rows[0];
  }
}
