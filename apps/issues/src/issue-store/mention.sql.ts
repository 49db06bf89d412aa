import { Prisma } from '../generated/prisma/client.ts';

/** The people that the text of the row mentions, in order, with their current names; NULL without mentions. */
export function mentionedPeople(row: 'i' | 'c'): Prisma.Sql {
  return Prisma.raw(`
  CASE WHEN ${row}.mention_ids <> '{}' THEN (
    SELECT json_agg(json_build_object('id', m.id, 'names', person.names) ORDER BY m.place)
      FROM unnest(${row}.mention_ids) WITH ORDINALITY m (id, place) LEFT JOIN identity_mirror person ON person.id = m.id
  ) END`);
}

/** Selects the ids of the active people with these usernames, without those of usernames that several people have. */
export function selectByUsernames(names: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    SELECT given.name, min(person.id::text) AS id FROM unnest(${[...names]}::text[]) given (name)
     CROSS JOIN LATERAL (
       SELECT id FROM identity_mirror m WHERE lower(m.username) = lower(given.name) AND m.is_active LIMIT 2
     ) person GROUP BY given.name HAVING count(*) = 1`;
}
