import { lastProjectKey } from '../issue-list/came-from.ts';

/** The project in which an issue is created unless the user chooses: that of the list that is shown, or the last one of the tab. */
export function usualProject(filter: string | undefined): string | undefined {
  if (filter !== undefined && /^[a-z][a-z0-9]*$/i.test(filter)) return filter.toUpperCase();
  return sessionStorage.getItem(lastProjectKey) ?? undefined;
}

export const noteProject = (key: string): void => sessionStorage.setItem(lastProjectKey, key);
