import { Prisma } from '../generated/prisma/client.ts';

/**
 * The condition that a person may read a row of issues, which is what `sightOf` decides for a reader. `person`: an expression of the
 * id, in which no table is called p, membership or staff.
 */
export function mayRead(person: string, row = 'i'): Prisma.Sql {
  return Prisma.raw(`EXISTS (
    SELECT FROM projects p WHERE p.id = ${row}.project_id AND (
      p.visibility = 'everyone'
      OR EXISTS (SELECT FROM project_members membership WHERE membership.user_id = ${person} AND membership.project_id = p.id)
      OR (p.visibility <> 'sealed' AND EXISTS (
        SELECT FROM identity_mirror staff WHERE staff.id = ${person} AND (staff.is_staff OR staff.is_superuser)))
      OR (p.visibility = 'reporters' AND ${person} IN (${row}.reporter_id, ${row}.assignee_id))))`);
}
