import {
  keepPreviousData,
  skipToken,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { listIssues } from '../http/api.ts';
import { newIssuesKey } from '../live/live-updates.ts';
import { formatNumber } from '../messages.ts';
import { SelectionBar } from '../quick-change/selection-bar.tsx';
import { useQuickChanges } from '../quick-change/use-quick-changes.tsx';
import { useCommands } from '../shell/commands.ts';
import { useTitle } from '../shell/use-title.ts';
import { noteList } from './came-from.ts';
import { IssueTable, type IssueTableHandle } from './issue-table.tsx';
import { ListFilters, openFirstFilter } from './list-filters.tsx';
import { apiQuery, isFiltered, validateListSearch } from './list-search.ts';

const isString = (value: unknown): value is string => typeof value === 'string';

export function IssueListPage() {
  useTitle('Issues');
  // The router keeps values that `validateSearch` drops.
  const search = useSearch({ from: '/app/issues', select: validateListSearch, structuralSharing: true });
  const navigate = useNavigate({ from: '/issues' });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const searchField = useRef<HTMLInputElement>(null);
  const table = useRef<IssueTableHandle>(null);
  const query = apiQuery(search);
  const client = useQueryClient();
  const list = useInfiniteQuery({
    queryKey: ['issues', query],
    queryFn: ({ pageParam, signal }) => listIssues(query, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  const issues = list.data?.pages.flatMap((page) => page.items) ?? [];
  const total = list.data?.pages[0]?.total;
  // A page ends early if the server has looked at many issues.
  const isSearching = issues.length === 0 && list.hasNextPage;
  useEffect(() => {
    if (isSearching && !list.isFetching && !list.isError) void list.fetchNextPage();
  });
  const selectAll = () => setSelected(new Set(issues.map(({ key }) => key)));
  useEffect(() => noteList('/issues', search), [search]);
  const targets = () => (selected.size > 0 ? [...selected] : [table.current?.active()].filter(isString));
  const quick = useQuickChanges(issues, targets);
  useCommands([
    { key: 'j', name: 'Next issue', run: () => table.current?.move(1) },
    { key: 'k', name: 'Previous issue', run: () => table.current?.move(-1) },
    { key: 'o', name: 'Open the issue', run: () => table.current?.open() },
    { key: 'x', name: 'Select the issue', run: () => table.current?.toggle() },
    { key: 'J', name: 'Select with the next issue', run: () => table.current?.extend(1) },
    { key: 'K', name: 'Select with the previous issue', run: () => table.current?.extend(-1) },
    { key: 'Ctrl+a', name: 'Select all', run: selectAll },
    ...quick.commands,
    {
      key: '/',
      name: 'Search',
      run: () => {
        searchField.current?.focus();
        searchField.current?.select();
      },
    },
    { key: 'f', name: 'Filter', run: openFirstFilter },
    { key: 'Escape', name: 'Clear the selection', run: () => setSelected(new Set()) },
  ]);
  const { data: arrived = [] } = useQuery<string[]>({ queryKey: newIssuesKey(query), queryFn: skipToken });
  const shown = new Set(issues.map(({ key }) => key));
  const newCount = arrived.filter((key) => !shown.has(key)).length;
  const showNew = async () => {
    const queryKey = ['issues', query];
    // The first page alone is read again.
    client.setQueryData<typeof list.data>(
      queryKey,
      (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    );
    await client.invalidateQueries({ queryKey });
    client.setQueryData(newIssuesKey(query), []);
    scrollTo(0, 0);
  };
  const change = (changes: Record<string, string | undefined>) =>
    void navigate({
      search: (now) => validateListSearch({ ...now, ...changes }),
      replace: 'q' in changes,
    });
  return (
    <main id="content" className="list-page">
      <div className="list-head">
        <h1>Issues</h1>
        <p className="muted" role="status">
          {list.isPending || isSearching ? 'Loading…' : countOf(total, issues.length, list.hasNextPage)}
        </p>
      </div>
      <ListFilters
        search={search}
        onChange={change}
        onReset={() => void navigate({ search: {} })}
        searchField={searchField}
      />
      <SelectionBar
        selected={selected}
        loaded={issues.length}
        onSelect={setSelected}
        onSelectAll={selectAll}
        onOpen={quick.open}
      />
      {list.isError && (
        <div className="notice" role="alert">
          <p>The issues could not be loaded. {list.error.message}</p>
          <button type="button" className="primary" onClick={() => void list.refetch()}>
            Try again
          </button>
        </div>
      )}
      {list.isSuccess && issues.length === 0 && !isSearching && (
        <div className="notice">
          <p>
            {isFiltered(search)
              ? 'No issue matches these filters.'
              : 'There are no open issues. Press c to create one.'}
          </p>
        </div>
      )}
      <div role="status" className="new-issues">
        {newCount > 0 && (
          <button type="button" onClick={() => void showNew()}>
            Show {formatNumber(newCount)} new
          </button>
        )}
      </div>
      {issues.length > 0 && (
        <IssueTable
          ref={table}
          issues={issues}
          list={JSON.stringify(query)}
          selected={selected}
          onSelect={setSelected}
          onEnd={() => {
            if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
          }}
          isLoadingMore={list.isFetchingNextPage}
          isStale={list.isPlaceholderData}
        />
      )}
      {quick.dialog}
    </main>
  );
}

function countOf(total: number | undefined, loaded: number, hasMore: boolean): string {
  if (total !== undefined) return total === 1 ? '1 issue' : `${formatNumber(total)} issues`;
  return hasMore ? `More than ${formatNumber(loaded)} issues` : `${formatNumber(loaded)} issues`;
}
