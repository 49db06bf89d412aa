import { queryOptions, useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import type { View } from '@tessera/contracts';
import { call } from '../http/api.ts';

/** Views that another person or browser has changed are read within a minute, or when the window is used again. */
export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: ({ signal }) => call('listViews', { signal }),
  staleTime: 0,
  refetchInterval: 60_000,
});

/** The saved view that the address names. */
export function useOpenView(): View | undefined {
  const saved = useLocation({ select: ({ search }) => search.saved });
  const { data = [] } = useQuery({ ...viewsQuery, enabled: saved !== undefined });
  return data.find(({ id }) => id === saved);
}
