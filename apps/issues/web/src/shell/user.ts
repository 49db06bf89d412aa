import type { FullUser } from '@tessera/contracts';
import { createContext, useContext } from 'react';

export const UserContext = createContext<FullUser | undefined>(undefined);

/** Whether a user has the rights of staff. Superusers have them, too. */
export const hasStaffRights = (user: FullUser) => user.is_staff || user.is_superuser;

/** The signed-in user. */
export function useUser(): FullUser {
  const user = useContext(UserContext);
  if (user === undefined) throw new Error('useUser is for pages behind the sign-in.');
  return user;
}
