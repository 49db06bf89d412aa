import { queryOptions, useQuery } from '@tanstack/react-query';
import type { FullUser, Project, ProjectMember, ProjectRole } from '@tessera/contracts';
import { call, readPage } from '../http/api.ts';
import { hasStaffRights, useUser } from '../shell/user.ts';

export const projectQuery = (key: string) =>
  queryOptions({
    queryKey: ['project', key],
    queryFn: ({ signal }) => call('getProject', { params: { key }, signal }),
  });

/** All members of a project, of which there are at most 2,000. */
export const membersQuery = (key: string) =>
  queryOptions({
    queryKey: ['members', key],
    queryFn: async ({ signal }) => {
      const members: ProjectMember[] = [];
      let cursor: string | undefined;
      do {
        const query = { limit: 200, cursor };
        const page = await readPage('listProjectMembers', { params: { key }, query, signal });
        members.push(...page.items);
        cursor = page.next;
      } while (cursor !== undefined);
      return members;
    },
    staleTime: 60_000,
  });

export const historyKey = (key: string) => ['project-history', key];

/** The role of the user in a project; undefined for others, and until it is known. */
export function useOwnRole(key: string, isAsked = true): ProjectRole | undefined {
  const { id } = useUser();
  const { data = [] } = useQuery({ ...membersQuery(key), enabled: isAsked });
  return data.find(({ user }) => user.id === id)?.role;
}

/** Whether a user may change a project and its members, as in the permissions of the service, which decides. */
export const mayManage = (
  { visibility }: Pick<Project, 'visibility'>,
  role: ProjectRole | undefined,
  user: FullUser,
): boolean => role === 'manager' || (visibility !== 'sealed' && hasStaffRights(user));
