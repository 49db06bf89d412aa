import { v7 as uuidv7 } from 'uuid';
import { Prisma } from '../generated/prisma/client.ts';
import type { NewLink } from '../issue-core/link.ts';

/** The columns that only rows of links have, of `l`. */
export const linkDetails = Prisma.raw(
  'l.type, l.ref, l.url, l.relation, l.metadata, l.created_by AS "createdBy"',
);

/** Inserts links of an issue. Replaces the details of an existing link with the same target. */
export function upsertLinks(
  issueId: string,
  links: readonly NewLink[],
  createdBy: string | null,
): Prisma.Sql {
  const rows = JSON.stringify(links.map((link) => ({ id: uuidv7(), ...link })));
  return Prisma.sql`
    INSERT INTO issue_links (id, issue_id, type, ref, title, url, relation, metadata, created_by)
    SELECT l.id, ${issueId}::uuid, l.type, l.ref, l.title, l.url, l.relation, l.metadata, ${createdBy}::uuid
      FROM jsonb_to_recordset(${rows}::jsonb) AS l (
        id uuid, type link_type, ref text, title text, url text, relation link_relation, metadata jsonb)
    ON CONFLICT (issue_id, type, ref) DO UPDATE
      SET title = excluded.title, url = excluded.url, relation = excluded.relation, metadata = excluded.metadata
    RETURNING *`;
}

/** Deletes links by their ids. */
export function deleteLinks(ids: readonly string[]): Prisma.Sql {
  return Prisma.sql`DELETE FROM issue_links WHERE id = ANY(${[...ids]}::uuid[])`;
}
