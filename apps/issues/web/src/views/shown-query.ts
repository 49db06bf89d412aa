import type { View } from '@tessera/contracts';
import { validateBoardSearch, validateListSearch } from '../issue-list/list-search.ts';
import { viewQuery } from './view-search.ts';

/** What a view of the list or board that is shown would have; undefined elsewhere. */
export function shownQuery(
  pathname: string,
  search: Record<string, unknown>,
): Pick<View, 'query' | 'layout'> | undefined {
  if (pathname === '/issues') return { query: viewQuery(validateListSearch(search)), layout: 'list' };
  if (pathname !== '/board') return undefined;
  return { query: viewQuery({ ...validateBoardSearch(search), state: 'all' }), layout: 'board' };
}
