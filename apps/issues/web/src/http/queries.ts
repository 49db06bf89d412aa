import { type Query, QueryClient, queryOptions } from '@tanstack/react-query';
import { call, readSession } from './api.ts';
import { HttpError } from './http.ts';

const maxRepeatedPages = 4;

const paged = ['issues', 'notifications'];

/** Whether a query is read again as a whole, page after page. Events change the rows of a longer list of issues where they are. */
export const isRepeated = ({ queryKey, state }: Pick<Query, 'queryKey' | 'state'>): boolean =>
  !paged.includes(String(queryKey[0])) ||
  ((state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) <= maxRepeatedPages;

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
  queryOptions({
    queryKey: ['issue', key],
    queryFn: ({ signal }) => call('getIssue', { params: { id: key }, signal }),
  });

export const labelsQuery = queryOptions({
  queryKey: ['labels'],
  queryFn: ({ signal }) => call('listLabels', { signal }),
  staleTime: 60_000,
  // No event tells of a renamed label.
  refetchInterval: 60_000,
});

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => call('listProjects', { signal }),
  staleTime: 60_000,
});

/** What an issue page shows besides the issue, which each change of the issue can change. */
const partNames = ['comments', 'activity', 'watching', 'relations', 'files'] as const;

/** Reads an issue and its parts again, where they are shown. */
export const refreshIssue = (client: QueryClient, key: string): Promise<unknown> =>
  Promise.all(
    [issueQuery(key).queryKey, ...partNames.map((name) => [name, key])].map((queryKey) =>
      client.invalidateQueries({ queryKey }),
    ),
  );

/** Reads the parts of an issue again: the issue itself was the answer to a change. */
export const refreshParts = (client: QueryClient, key: string): void => {
  for (const name of partNames) void client.invalidateQueries({ queryKey: [name, key] });
};
