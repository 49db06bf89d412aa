import type { FullUser, Issue } from '@tessera/contracts';
import { hasStaffRights } from '../shell/user.ts';

/** Whether a user may change an issue, as in the permissions of the service, which decides. */
export function mayChange({ reporter, assignee }: Issue, user: FullUser): boolean {
  return hasStaffRights(user) || [reporter?.id, assignee?.id].includes(user.id);
}
