import { Prisma } from '../generated/prisma/client.ts';

/** Selects the ids of the active people with these usernames, without those of usernames that several people have. */
export function selectByUsernames(names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT given.name, min(person.id::text) AS id FROM unnest(${[...names]}::text[]) given (name)
     CROSS JOIN LATERAL (
       SELECT id FROM identity_mirror m WHERE lower(m.username) = lower(given.name) AND m.is_active LIMIT 2
     ) person GROUP BY given.name HAVING count(*) = 1`;
}
