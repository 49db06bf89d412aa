import type { FullUser, Issue } from '@tessera/contracts';

/** Whether a user may change an issue, as in the permissions of the service, which decides. */
export function mayChange({ reporter, assignee }: Issue, user: FullUser): boolean {
  return user.is_staff || user.is_superuser || [reporter?.id, assignee?.id].includes(user.id);
}
