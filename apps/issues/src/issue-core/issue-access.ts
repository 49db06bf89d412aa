import type { ProjectRole, ProjectVisibility } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from './actor.ts';
import type { ProjectAccess } from './project-access.ts';

type Role = 'user' | 'viewer' | 'member' | 'manager' | 'reporter' | 'assignee' | 'staff' | 'superuser';

const involved: readonly Role[] = ['member', 'reporter', 'assignee', 'staff', 'superuser'];
const anyReader: readonly Role[] = ['user', 'viewer', ...involved];
const staff: readonly Role[] = ['staff', 'superuser'];

/**
 * The roles that may perform each action on an issue. `user` is any active user, in a project that everyone reads; in the others,
 * `viewer` is each member, `member` those who change issues, and `manager` those of them who change the project.
 */
const permitted = {
  read: anyReader,
  create: ['user', ...involved],
  comment: anyReader,
  takeUnassigned: ['user', ...involved],
  link: ['user', ...involved],
  update: involved,
  assign: involved,
  changeStatus: involved,
  sync: involved,
  deleteOfOthers: ['manager', ...staff],
  linkTracker: staff,
} satisfies Record<string, readonly Role[]>;

export type IssueAction = keyof typeof permitted;

/** The fields of an issue that decide access. */
export interface IssueParties {
  reporterId: string;
  assigneeId: string | null;
  projectId: string;
}

/** Throws a 403 problem if the actor may not administer the sync with the external tracker. */
export const assertMayAdministerSync = assertIsStaff;
/** Throws a 403 problem if the actor may not create, change and delete labels. */
export const assertMayAdministerLabels = assertIsStaff;
/** Throws a 403 problem if the actor may not create projects. */
export const assertMayCreateProjects = assertIsStaff;
/** Throws a 403 problem if the actor may not administer endpoints of webhooks. */
export const assertMayAdministerWebhooks = assertIsStaff;

function assertIsStaff({ isStaff, isSuperuser }: Actor): void {
  if (isStaff || isSuperuser) return;
  throw new ProblemError({ status: 403, code: 'forbidden', detail: 'Only staff may do this.' });
}

/** Throws a 403 problem if the actor may not create issues in a project that they see. */
export function assertMayCreateIn(actor: Actor, projectId: string): void {
  // Everyone reports issues to it.
  if (actor.access.restricted(projectId)?.visibility === 'reporters') return;
  assertMay(actor, 'create', { reporterId: '', assigneeId: null, projectId });
}

/** Throws a 403 problem if the actor may not change the settings and members of a project, in which they have a role. */
export function assertMayManage(
  { isStaff, isSuperuser }: Actor,
  visibility: ProjectVisibility,
  role: ProjectRole | undefined,
): void {
  if (role === 'manager' || (visibility !== 'sealed' && (isStaff || isSuperuser))) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    detail: 'Only managers of the project and staff may do this.',
  });
}

/** Throws a 403 problem if the actor may not change the text of a comment of this author. */
export function assertMayChangeComment(actor: Actor, authorId: string | null): void {
  if (actor.id === authorId) return;
  throw new ProblemError({ status: 403, code: 'forbidden', detail: 'Only the author may change a comment.' });
}

/** Throws a 403 problem if the actor may not delete what this person has added to an issue of a project: a comment or a file. */
export function assertMayDelete(actor: Actor, ownerId: string | null, projectId: string): void {
  const issue = { reporterId: '', assigneeId: null, projectId };
  if (actor.id === ownerId || may(actor, 'deleteOfOthers', issue)) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    detail:
      'Only the person who added it, staff, and managers of a project that not everyone reads may delete it.',
  });
}

/** Throws a 403 problem if the actor may not change a view of this owner. */
export function assertMayChangeView({ id, isStaff, isSuperuser }: Actor, ownerId: string): void {
  if (id === ownerId || isStaff || isSuperuser) return;
  const detail = 'Only the owner and staff may change a shared view.';
  throw new ProblemError({ status: 403, code: 'forbidden', detail });
}

export function may(actor: Actor, action: IssueAction, issue: IssueParties): boolean {
  const roles = rolesOf(actor, issue);
  return permitted[action].some((role) => roles.has(role));
}

/**
 * Whether a person may be assigned to an issue. In a project of which the actor sees only own issues, they do not give others the right
 * to read one.
 */
export function mayBeAssigned(
  { id, access }: { id: string; access: ProjectAccess },
  issue: IssueParties,
  actor: Actor,
): boolean {
  const { projectId, reporterId, assigneeId } = issue;
  if (access.hides(projectId)) return false;
  const seesOwn = ({ scope }: ProjectAccess) => scope.own.includes(projectId);
  return !(seesOwn(actor.access) && seesOwn(access)) || [actor.id, reporterId, assigneeId].includes(id);
}

/** Throws a 403 problem if the actor may not perform the action. */
export function assertMay(actor: Actor, action: IssueAction, issue: IssueParties): void {
  if (may(actor, action, issue)) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    detail:
      permitted[action] === staff
        ? 'Only staff may do this.'
        : 'Only the reporter, the assignee, members of the project and staff may do this.',
  });
}

function rolesOf(actor: Actor, issue: IssueParties): Set<Role> {
  const roles = new Set<Role>();
  const project = actor.access.restricted(issue.projectId);
  if (project === undefined) roles.add('user');
  else if (project.role !== undefined) roles.add(project.role === 'viewer' ? 'viewer' : 'member');
  if (project?.role === 'manager') roles.add('manager');
  // In the others, only the role in the project gives rights: there, also a viewer and a former member have reported issues.
  if (project === undefined || project.visibility === 'reporters') {
    if (actor.id === issue.reporterId) roles.add('reporter');
    if (actor.id === issue.assigneeId) roles.add('assignee');
  }
  if (project?.visibility === 'sealed') return roles;
  if (actor.isStaff) roles.add('staff');
  if (actor.isSuperuser) roles.add('superuser');
  return roles;
}
