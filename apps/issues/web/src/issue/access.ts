import type { FullUser, Issue, ProjectRole } from '@tessera/contracts';
import { mayManage, useOwnRole } from '../projects/project-queries.ts';
import { hasStaffRights, useUser } from '../shell/user.ts';

/**
 * Whether a user may change an issue, as in the permissions of the service, which decides.
 * @param role of the user in the project of the issue
 */
export function mayChange(
  { reporter, assignee, project }: Issue,
  user: FullUser,
  role?: ProjectRole | undefined,
): boolean {
  const isStaff = hasStaffRights(user) && project.visibility !== 'sealed';
  const isMember = project.visibility !== 'everyone' && role !== undefined && role !== 'viewer';
  // In the others, a viewer and a former member have reported issues.
  const isOwn = ['everyone', 'reporters'].includes(project.visibility);
  return isStaff || isMember || (isOwn && [reporter?.id, assignee?.id].includes(user.id));
}

/** Whether the user may change an issue. In a project that not everyone reads, its members may, once the role is known. */
export function useMayChange(issue: Issue): boolean {
  const user = useUser();
  const isOpen = issue.project.visibility === 'everyone';
  const role = useOwnRole(issue.project.key, !isOpen && !mayChange(issue, user));
  return mayChange(issue, user, role);
}

/** Whether the user may delete comments and files of others. */
export function useMayDelete({ project }: Issue): boolean {
  const user = useUser();
  const isOpen = project.visibility === 'everyone';
  const role = useOwnRole(project.key, !isOpen && !mayManage(project, undefined, user));
  return mayManage(project, isOpen ? undefined : role, user);
}

/** The key of an issue that not everyone reads, by which a search for people finds only its readers. */
export function readersOf({ project, key }: Issue): string | undefined {
  return project.visibility === 'everyone' ? undefined : key;
}
