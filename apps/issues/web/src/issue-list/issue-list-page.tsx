import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { IssueQuery } from '../http/api.ts';
import { IssuePeek, SelectionBar } from '../issue/parts.ts';
import { newIssuesKey } from '../live/connection.ts';
import { formatNumber } from '../messages.ts';
import { useQuickChanges } from '../quick-change/use-quick-changes.tsx';
import { type Command, useCommands } from '../shell/commands.ts';
import { useTitle } from '../shell/use-title.ts';
import { useOpenView } from '../views/open-view.ts';
import { ViewActions } from '../views/parts.ts';
import { lastPlace, noteList } from './came-from.ts';
import { useDisplay } from './display.ts';
import type { Grouping } from './groups.ts';
import { IssueTable, type IssueTableHandle } from './issue-table.tsx';
import { ListDisplay } from './list-display.tsx';
import { filterCommand, ListFilters } from './list-filters.tsx';
import { apiQuery, isFiltered, validateListSearch } from './list-search.ts';
import { useIssuePages } from './use-issue-pages.ts';

const isString = (value: unknown): value is string => typeof value === 'string';

/** All issues that match the filters. */
export function IssueListPage() {
  // The router keeps values that `validateSearch` drops.
  const search = useSearch({ from: '/app/issues', select: validateListSearch, structuralSharing: true });
  const navigate = useNavigate({ from: '/issues' });
  const searchField = useRef<HTMLInputElement>(null);
  const [{ group }] = useDisplay();
  const view = useOpenView();
  const order = search.order ?? '-created_at';
  useEffect(() => noteList('/issues', search), [search]);
  const change = (changes: Record<string, string | undefined>) =>
    navigate({
      search: (now) => validateListSearch({ ...now, ...changes }),
      replace: 'q' in changes,
    });
  return (
    <IssueListView
      title={view?.name ?? 'Issues'}
      query={apiQuery(search)}
      by={group}
      order={order}
      onOrder={(next) => change({ order: next })}
      actions={<ViewActions />}
      nothing={
        isFiltered(search)
          ? 'No issue matches these filters.'
          : 'There are no open issues. Press c to create one.'
      }
      commands={[
        {
          key: '/',
          name: 'Search',
          run: () => {
            searchField.current?.focus();
            searchField.current?.select();
          },
        },
        filterCommand,
      ]}
    >
      <ListFilters
        search={search}
        onChange={change}
        onReset={() => void navigate({ search: {} })}
        searchField={searchField}
      />
    </IssueListView>
  );
}

interface IssueListViewProps {
  title: string;
  query: IssueQuery;
  /** What is said if there is no issue. */
  nothing: ReactNode;
  /** The keys of the part above the issues. */
  commands?: readonly Command[];
  by?: Grouping;
  /** Only of a list whose order can be chosen. */
  order?: string;
  onOrder?: (order: string) => void;
  /** Beside the title. */
  actions?: ReactNode;
  /** The part above the issues. */
  children: ReactNode;
}

/** A list of issues with its keys and its selection. */
export function IssueListView({
  title,
  query,
  nothing,
  commands = [],
  by = 'none',
  order,
  onOrder,
  actions,
  children,
}: IssueListViewProps) {
  useTitle(title);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const table = useRef<IssueTableHandle>(null);
  const [peeked, setPeeked] = useState<string>();
  const client = useQueryClient();
  const [{ isCompact }] = useDisplay();
  const { list, queryKey, listed, issues, total, counts } = useIssuePages(query, by);
  // A page ends early if the server has looked at many issues.
  const isSearching = issues.length === 0 && list.hasNextPage;
  useEffect(() => {
    if (isSearching && !list.isFetching && !list.isError) void list.fetchNextPage();
  });
  const selectAll = () => setSelected(new Set(issues.map(({ key }) => key)));
  const targets = () => (selected.size > 0 ? [...selected] : [table.current?.active()].filter(isString));
  const quick = useQuickChanges(issues, targets);
  useCommands([
    { key: 'j', name: 'Next issue', run: () => table.current?.move(1) },
    { key: 'k', name: 'Previous issue', run: () => table.current?.move(-1) },
    { key: 'o', name: 'Open the issue', run: () => table.current?.open() },
    { key: 'Space', name: 'Peek at the issue', run: () => setPeeked(table.current?.active()) },
    { key: 'x', name: 'Select the issue', run: () => table.current?.toggle() },
    { key: 'J', name: 'Select with the next issue', run: () => table.current?.extend(1) },
    { key: 'K', name: 'Select with the previous issue', run: () => table.current?.extend(-1) },
    { key: 'Ctrl+a', name: 'Select all loaded issues', run: selectAll },
    ...quick.commands,
    ...commands,
    { key: 'Escape', name: 'Clear the selection', run: () => setSelected(new Set()) },
  ]);
  const { data: arrived = [] } = useQuery<string[]>({ queryKey: newIssuesKey(listed), queryFn: skipToken });
  const shown = new Set(issues.map(({ key }) => key));
  const newCount = arrived.filter((key) => !shown.has(key)).length;
  const peekedRow = issues.find(({ key }) => key === peeked);
  const showNew = async () => {
    // The first page alone is read again.
    client.setQueryData<typeof list.data>(
      queryKey,
      (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    );
    await client.invalidateQueries({ queryKey });
    client.setQueryData(newIssuesKey(listed), []);
    scrollTo(0, 0);
  };
  return (
    <main id="content" className="list-page">
      <div className="list-head">
        <h1>{title}</h1>
        <p className="muted" role="status">
          {list.isPending || isSearching ? 'Loading…' : countOf(total, issues.length, list.hasNextPage)}
        </p>
        {actions}
        {order !== undefined && onOrder !== undefined && <ListDisplay order={order} onOrder={onOrder} />}
      </div>
      {children}
      {selected.size > 0 && (
        <SelectionBar
          selected={selected}
          loaded={issues.length}
          total={list.hasNextPage ? total : issues.length}
          onSelect={setSelected}
          onSelectAll={selectAll}
          onOpen={quick.open}
        />
      )}
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
          <p>{nothing}</p>
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
          by={by}
          counts={counts}
          isCompact={isCompact}
          order={order}
          onOrder={onOrder}
          list={JSON.stringify(query)}
          selected={selected}
          onSelect={setSelected}
          onEnd={() => {
            if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
            return list.hasNextPage;
          }}
          isLoadingMore={list.isFetchingNextPage}
          isStale={list.isPlaceholderData}
        />
      )}
      {quick.dialog}
      {peekedRow !== undefined && (
        <IssuePeek
          row={peekedRow}
          onMove={(by) => {
            table.current?.move(by);
            setPeeked(lastPlace()?.key);
          }}
          onClose={() => setPeeked(undefined)}
        />
      )}
    </main>
  );
}

function countOf(total: number | undefined, loaded: number, hasMore: boolean): string {
  if (total !== undefined) return total === 1 ? '1 issue' : `${formatNumber(total)} issues`;
  return hasMore ? `More than ${formatNumber(loaded)} issues` : `${formatNumber(loaded)} issues`;
}
