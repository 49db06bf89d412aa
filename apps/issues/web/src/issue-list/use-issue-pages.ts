import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { call, type IssueQuery, listIssues, type RowPage } from '../http/api.ts';
import { type Grouping, inGroups, orderedBy } from './groups.ts';

/** Where a list goes on: by a cursor, and in groups of people at the person of a place. */
interface Place {
  cursor?: string | undefined;
  people?: readonly string[];
  at?: number;
}

const countsOf = ({ ordering: _, ...filters }: IssueQuery, by: 'status' | 'priority' | 'assignee') => ({
  queryKey: ['counts', filters, by],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call('countIssues', { query: { ...filters, by }, signal }),
});

/** The service has no order by assignee, so the issues of each person are read one after the other, of those with most issues first. */
async function readByPeople(
  query: IssueQuery,
  place: Place,
  signal: AbortSignal,
): Promise<RowPage & { follow?: Place }> {
  const people =
    place.people ??
    (await countsOf(query, 'assignee').queryFn({ signal })).counts.map(({ value }) =>
      value === null || typeof value === 'string' ? 'none' : value.id,
    );
  const { at = 0, cursor } = place;
  const person = people[at];
  if (person === undefined) return { items: [], next: undefined, total: 0 };
  const page = await listIssues({ ...query, assignee: [person] }, cursor, signal);
  if (page.next !== undefined) return { ...page, follow: { people, at, cursor: page.next } };
  return at + 1 < people.length ? { ...page, follow: { people, at: at + 1 } } : page;
}

/** The pages of a list in groups, and how many issues each group has. */
export function useIssuePages(query: IssueQuery, by: Grouping) {
  const listed =
    by === 'status' || by === 'priority'
      ? { ...query, ordering: orderedBy(by, query.ordering as string | undefined) }
      : query;
  const queryKey = by === 'assignee' ? ['issues', query, by] : ['issues', listed];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }): Promise<RowPage & { follow?: Place | undefined }> => {
      if (by === 'assignee') return readByPeople(query, pageParam, signal);
      const page = await listIssues(listed, pageParam.cursor, signal);
      return { ...page, follow: page.next === undefined ? undefined : { cursor: page.next } };
    },
    initialPageParam: {} as Place,
    getNextPageParam: ({ follow }) => follow,
    placeholderData: keepPreviousData,
  });
  const { data: counts } = useQuery({
    ...countsOf(query, by === 'none' ? 'status' : by),
    enabled: by !== 'none',
    placeholderData: keepPreviousData,
  });
  const ofGroups = new Map(
    counts?.by === by
      ? counts.counts.map(({ value, count, is_capped }) => [
          typeof value === 'string' ? value : (value?.id ?? ''),
          `${count}${is_capped ? '+' : ''}`,
        ])
      : [],
  );
  const total =
    by === 'assignee'
      ? counts?.by === by && counts.is_complete
        ? counts.counts.reduce((sum, { count }) => sum + count, 0)
        : undefined
      : list.data?.pages[0]?.total;
  const loaded = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return { list, queryKey, listed, issues: inGroups(loaded, by), total, counts: ofGroups };
}
