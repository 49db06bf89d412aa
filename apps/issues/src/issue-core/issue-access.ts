import { ProblemError } from '@tessera/service-kit';
import type { Actor } from './actor.ts';

type Role = 'user' | 'reporter' | 'assignee' | 'staff' | 'superuser';

const anyUser: readonly Role[] = ['user', 'reporter', 'assignee', 'staff', 'superuser'];
const involved: readonly Role[] = ['reporter', 'assignee', 'staff', 'superuser'];
const staff: readonly Role[] = ['staff', 'superuser'];

/** The roles that may perform each action on an issue. `user` is any active user. */
const permitted = {
  read: anyUser,
  create: anyUser,
  comment: anyUser,
  takeUnassigned: anyUser,
  update: involved,
  assign: involved,
  changeStatus: involved,
  sync: involved,
  linkTracker: staff,
} satisfies Record<string, readonly Role[]>;

export type IssueAction = keyof typeof permitted;

/** The fields of an issue that decide access. */
export interface IssueParties {
  reporterId: string;
  assigneeId: string | null;
}

/** Throws a 403 problem if the actor may not administer the sync with the external tracker. */
export const assertMayAdministerSync = assertIsStaff;
/** Throws a 403 problem if the actor may not create, change and delete labels. */
export const assertMayAdministerLabels = assertIsStaff;
/** Throws a 403 problem if the actor may not create and change projects. */
export const assertMayAdministerProjects = assertIsStaff;
/** Throws a 403 problem if the actor may not administer endpoints of webhooks. */
export const assertMayAdministerWebhooks = assertIsStaff;

function assertIsStaff({ isStaff, isSuperuser }: Actor): void {
  if (isStaff || isSuperuser) return;
  throw new ProblemError({ status: 403, code: 'forbidden', detail: 'Only staff may do this.' });
}

/** Throws a 403 problem if the actor may not change the text of a comment of this author. */
export function assertMayChangeComment(actor: Actor, authorId: string | null): void {
  if (actor.id === authorId) return;
  throw new ProblemError({ status: 403, code: 'forbidden', detail: 'Only the author may change a comment.' });
}

/** Throws a 403 problem if the actor may not delete a comment of this author. */
export function assertMayDeleteComment({ id, isStaff, isSuperuser }: Actor, authorId: string | null): void {
  if (id === authorId || isStaff || isSuperuser) return;
  const detail = 'Only the author and staff may delete a comment.';
  throw new ProblemError({ status: 403, code: 'forbidden', detail });
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

/** Throws a 403 problem if the actor may not perform the action. */
export function assertMay(actor: Actor, action: IssueAction, issue: IssueParties): void {
  if (may(actor, action, issue)) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    detail:
      permitted[action] === staff
        ? 'Only staff may do this.'
        : 'Only the reporter, the assignee and staff may do this.',
  });
}

function rolesOf(actor: Actor, issue: IssueParties): Set<Role> {
  const roles = new Set<Role>(['user']);
  if (actor.id === issue.reporterId) roles.add('reporter');
  if (actor.id === issue.assigneeId) roles.add('assignee');
  if (actor.isStaff) roles.add('staff');
  if (actor.isSuperuser) roles.add('superuser');
  return roles;
}
