import type { Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import { type ReadScope, StaleAccess } from '../issue-core/project-access.ts';
import { isReferredTo } from './issue.sql.ts';

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

/** The condition of a write that the row `i` is the issue that a path names, and that the scope still holds. */
export function isWritten(reference: IssueReference): Prisma.Sql {
  return Prisma.sql`${isReferredTo(reference)} ${andHolds(reference.scope)}`;
}

/** The same of an issue at a revision. */
export function isAt(id: string, rev: number, scope: ReadScope): Prisma.Sql {
  return Prisma.sql`i.id = ${id}::uuid AND i.rev = ${rev}::int ${andHolds(scope)}`;
}

/** The same of an issue that moves to a project. */
export function isMoved(reference: IssueReference, projectId: string): Prisma.Sql {
  return Prisma.sql`${isWritten(reference)} ${andHolds(reference.scope, Prisma.sql`${projectId}::uuid`)}`;
}

/**
 * The further condition of a write that its scope still holds for a project: a scope may be some seconds old, and on this condition a
 * person who was removed meanwhile changes nothing. Empty while every project is open to everyone.
 */
export function andHolds(scope: ReadScope, projectId = Prisma.raw('i.project_id')): Prisma.Sql {
  return scope.hidden.length + scope.basis.length === 0
    ? Prisma.empty
    : Prisma.sql`AND ${holds(scope, projectId)}`;
}

// A project that the scope does not know is open to everyone, as the default one always is. Issues of hidden ones are not in the scope.
function holds({ basis, readerId }: ReadScope, projectId: Prisma.Sql): Prisma.Sql {
  const [ids, visibilities, roles] = [
    basis.map(({ id }) => id),
    basis.map(({ visibility }) => visibility),
    basis.map(({ role }) => role ?? null),
  ];
  return Prisma.sql`(${projectId} = ${Prisma.raw(`'${defaultProjectId}'::uuid`)} OR EXISTS (
    SELECT FROM projects p
      LEFT JOIN unnest(${ids}::uuid[], ${visibilities}::text[], ${roles}::text[]) basis (id, visibility, role) ON basis.id = p.id
      LEFT JOIN project_members membership ON membership.user_id = ${readerId}::uuid AND membership.project_id = p.id
     WHERE p.id = ${projectId} AND p.visibility::text = coalesce(basis.visibility, 'everyone')
       AND (p.visibility = 'everyone' OR membership.role::text IS NOT DISTINCT FROM basis.role)))`;
}

/** Throws, after a write without effect, if that is because the scope does not hold for the issue any more. */
export async function assertHolds(reference: IssueReference, transaction: Transaction): Promise<void> {
  const where = isReferredTo(reference);
  await assertNone(
    Prisma.sql`SELECT i.project_id FROM issues i WHERE ${where}`,
    reference.scope,
    transaction,
  );
}

/** The same for a project. */
export async function assertHoldsFor(
  projectId: string,
  scope: ReadScope,
  transaction: Transaction,
): Promise<void> {
  await assertNone(Prisma.sql`SELECT ${projectId}::uuid AS project_id`, scope, transaction);
}

async function assertNone(projects: Prisma.Sql, scope: ReadScope, transaction: Transaction): Promise<void> {
  if (scope.hidden.length + scope.basis.length === 0) return;
  const stale = await transaction.$queryRaw<unknown[]>`
    SELECT 1 FROM (${projects}) i WHERE NOT ${holds(scope, Prisma.raw('i.project_id'))}`;
  if (stale.length > 0) throw new StaleAccess('projects or members have changed');
}
