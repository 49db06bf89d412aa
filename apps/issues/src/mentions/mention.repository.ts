import type { Database } from '../database.ts';
import { selectByUsernames } from './mention.sql.ts';

/** Finds people by their usernames in the mirror. */
export class MentionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the ids of active people by username, ignoring case. Omits usernames that several people have. */
  async findByUsernames(names: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#database.$queryRaw<{ name: string; id: string }[]>(selectByUsernames(names));
    return new Map(rows.map(({ name, id }) => [name, id]));
  }
}
