import DataLoader from 'dataloader';
import type { Database } from '../database.ts';

/** What userinfo tells, and what it needs to know whether the token is still good. */
export interface UserInfoSubject {
  id: string;
  email: string;
  username: string;
  isVerified: boolean;
  sessionsValidAfter: Date | null;
}

/** Reads of identities behind tokens: who ask in one turn of the event loop share a statement. */
export class UserInfoRepository {
  readonly #database: Database;
  // The hottest read: a statement for each request would be two thirds of its cost (packages/dev/bench). Nothing is kept.
  readonly #loader = new DataLoader<string, UserInfoSubject | undefined>((ids) => this.#findSubjects(ids), {
    cache: false,
    maxBatchSize: 100,
    batchScheduleFn: (callback) => setImmediate(callback),
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** The active identity behind a token, or undefined, as the database has it after this was called. */
  findSubject(id: string): Promise<UserInfoSubject | undefined> {
    return this.#loader.load(id);
  }

  async #findSubjects(ids: readonly string[]): Promise<(UserInfoSubject | undefined)[]> {
    const rows = await this.#database.$queryRaw<UserInfoSubject[]>`
      SELECT id, email, username, is_verified AS "isVerified", sessions_valid_after AS "sessionsValidAfter"
        FROM identities WHERE id = ANY(${ids}::uuid[]) AND deleted_at IS NULL AND is_active`;
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id));
  }
}
