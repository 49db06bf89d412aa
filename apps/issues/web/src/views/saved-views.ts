import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { View } from '@tessera/contracts';
import { call } from '../http/api.ts';
import {
  apiQuery,
  type ListSearch,
  validateBoardSearch,
  validateListSearch,
} from '../issue-list/list-search.ts';
import { useCommands } from '../shell/commands.ts';
import { viewsQuery } from './open-view.ts';
import { searchOfView } from './view-search.ts';

/** Views with a key and a count. */
export const numberedViews = 9;

/** The page of a view, with its filters. */
export function targetOf({ id, query, layout }: View): { to: '/issues' | '/board'; search: ListSearch } {
  const search = { ...searchOfView(query), saved: id };
  return layout === 'board'
    ? { to: '/board', search: validateBoardSearch({ ...search }) }
    : { to: '/issues', search };
}

/** Whether the filters that are shown are no longer those of a view. */
export function isChanged(view: View, pathname: string, search: Record<string, unknown>): boolean {
  const { to, search: saved } = targetOf(view);
  const validate = to === '/board' ? validateBoardSearch : validateListSearch;
  const sorted = (one: object) => JSON.stringify(Object.entries(apiQuery(validate({ ...one }))).sort());
  return to !== pathname || sorted(saved) !== sorted(search);
}

/** Adds a command for each view; the first nine have keys. */
export function ViewCommands(): null {
  const { data = [] } = useQuery(viewsQuery);
  const navigate = useNavigate();
  useCommands(
    data.map((view, index) => ({
      ...(index < numberedViews && { key: `Alt+${index + 1}` }),
      name: `Open the view ${view.name}`,
      group: 'Views' as const,
      run: () => void navigate(targetOf(view)),
    })),
    true,
  );
  return null;
}

/** The number of issues of a view, as it is shown: at most some seconds old. */
export function useViewCount({ id, query }: View): string | undefined {
  const { data } = useQuery({
    queryKey: ['view-count', id, query],
    queryFn: ({ signal }) => {
      const { ordering: _, ...filters } = apiQuery(searchOfView(query));
      return call('countIssues', { query: { ...filters, by: 'status' }, signal });
    },
    staleTime: 30_000,
    refetchInterval: 30_000,
  });
  if (data === undefined) return undefined;
  const total = data.counts.reduce((sum, { count }) => sum + count, 0);
  const isMore = !data.is_complete || data.counts.some(({ is_capped }) => is_capped);
  return total > 999 ? '999+' : `${total}${isMore ? '+' : ''}`;
}
