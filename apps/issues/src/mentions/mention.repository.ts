import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

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

/** Selects the ids of the active people with these usernames, without those of usernames that several people have. */
export function selectByUsernames(names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT given.name, min(person.id::text) AS id FROM unnest(${[...names]}::text[]) given (name)
     CROSS JOIN LATERAL (
       SELECT id FROM identity_mirror m WHERE lower(m.username) = lower(given.name) AND m.is_active LIMIT 2
     ) person GROUP BY given.name HAVING count(*) = 1`;
}
