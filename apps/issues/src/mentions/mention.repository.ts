import { mentionsMax } from '@tessera/contracts';
import { mentionedNames } from '@tessera/contracts/markdown';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

/** Finds the people that texts mention, in the mirror. */
export class MentionRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the ids of the first people that a text mentions. Unknown and ambiguous names mention no one. */
  async resolve(text: string): Promise<string[]> {
    const names = mentionedNames(text);
    if (names.length === 0) return [];
    const rows = await this.#database.$queryRaw<{ name: string; id: string }[]>(
      selectByUsernames(names.flat()),
    );
    const known = new Map(rows.map(({ name, id }) => [name, id]));
    const ids = names.flatMap((forms) => forms.map((form) => known.get(form)).find(Boolean) ?? []);
    return [...new Set(ids)].slice(0, mentionsMax);
  }
}

/**
 * Selects the ids of the active people with these usernames, ignoring case, without those of usernames that several people
 * have.
 */
export function selectByUsernames(names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT given.name, min(person.id::text) AS id FROM unnest(${[...names]}::text[]) given (name)
     CROSS JOIN LATERAL (
       SELECT id FROM identity_mirror m WHERE lower(m.username) = lower(given.name) AND m.is_active LIMIT 2
     ) person GROUP BY given.name HAVING count(*) = 1`;
}
