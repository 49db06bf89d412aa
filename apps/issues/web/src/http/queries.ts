import { type Query, QueryClient, queryOptions } from '@tanstack/react-query';
import { listLabels, readIssue, readSession } from './api.ts';
import { HttpError } from './http.ts';

const maxRepeatedPages = 4;

/** Whether a query is read again as a whole, page after page. The rows of a longer list change where they are. */
export const isRepeated = (query: Pick<Query, 'state'>): boolean =>
  ((query.state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) <= maxRepeatedPages;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnMount: isRepeated,
      refetchOnReconnect: isRepeated,
      refetchOnWindowFocus: isRepeated,
      gcTime: 30 * 60_000,
      retry: (failures, error) => failures < 2 && error instanceof HttpError && error.isTransient,
    },
  },
});

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => readSession(signal),
  staleTime: Number.POSITIVE_INFINITY,
});

export const issueQuery = (key: string) =>
  queryOptions({ queryKey: ['issue', key], queryFn: ({ signal }) => readIssue(key, signal) });

export const labelsQuery = queryOptions({
  queryKey: ['labels'],
  queryFn: ({ signal }) => listLabels(signal),
  staleTime: 60_000,
});
