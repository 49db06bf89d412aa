import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useConnection } from '../live/connection.ts';
import { readPage } from './api.ts';

export const unreadKey = ['unread'];
const largest = 1_000;

export const countOf = (headers: Headers) => Number(headers.get('X-Unread-Count') ?? 0);

export const setUnread = (client: QueryClient, count: number) => client.setQueryData(unreadKey, count);

/** The number of unread notifications. The stream of events says it; without one, it is read. */
export function useUnread(): number {
  const { connection } = useConnection();
  const { data = 0 } = useQuery({
    queryKey: unreadKey,
    queryFn: async ({ signal }) =>
      countOf((await readPage('listNotifications', { query: { limit: 1 }, signal })).headers),
    enabled: connection === 'polling',
    // While the stream says it, no other cause may read it.
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

export const shownCount = (count: number) => (count >= largest ? '999+' : String(count));
