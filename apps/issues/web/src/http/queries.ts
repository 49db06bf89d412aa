import { QueryClient, queryOptions } from '@tanstack/react-query';
import { listLabels, readIssue, readSession } from './api.ts';
import { HttpError } from './http.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
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
