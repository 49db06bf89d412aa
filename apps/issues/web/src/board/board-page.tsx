import '../styles/board.css';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { call, type IssueRow } from '../http/api.ts';
import { CreateDialog, IssuePeek, SelectionBar } from '../issue/parts.ts';
import { noteList, noteOrder } from '../issue-list/came-from.ts';
import { filterCommand, ListFilters } from '../issue-list/list-filters.tsx';
import { apiQuery, validateBoardSearch } from '../issue-list/list-search.ts';
import { statuses, statusNames } from '../messages.ts';
import { toggledTo } from '../quick-change/selection.ts';
import { useQuickChanges } from '../quick-change/use-quick-changes.tsx';
import { useRowChanges } from '../quick-change/use-row-changes.ts';
import { useCommands } from '../shell/commands.ts';
import { useTitle } from '../shell/use-title.ts';
import { useOpenView } from '../views/open-view.ts';
import { ViewActions } from '../views/parts.ts';
import { BoardColumn } from './board-column.tsx';
import { focusCard, focusedCard, keepFocus, openCard } from './card-focus.ts';

/** The issues by status. A card moves to the columns that the workflow allows. */
export function BoardPage() {
  const view = useOpenView();
  useTitle(view?.name ?? 'Board');
  const search = useSearch({ from: '/app/board' });
  const navigate = useNavigate({ from: '/board' });
  const searchField = useRef<HTMLInputElement>(null);
  const [dragged, setDragged] = useState<IssueRow>();
  const [rows, setRows] = useState<ReadonlyMap<string, readonly IssueRow[]>>(new Map());
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const query = apiQuery({ ...search, state: 'all' });
  const { data: counts } = useQuery({
    queryKey: ['counts', query],
    queryFn: ({ signal }) => call('countIssues', { query: { ...query, by: 'status' }, signal }),
  });
  // Undefined if it is not known.
  const total = counts?.counts.some(({ is_capped }) => is_capped)
    ? undefined
    : counts?.counts.reduce((sum, { count }) => sum + count, 0);
  const change = useRowChanges();
  const issues = [...rows.values()].flat();
  const focused = () => {
    const key = focusedCard();
    return key === undefined ? [] : [key];
  };
  useEffect(keepFocus);
  useEffect(() => noteList('/board', search), [search]);
  const [peeked, setPeeked] = useState<string>();
  const peekedRow = issues.find(({ key }) => key === peeked);
  /** The next issue of the column, at which one peeks then. */
  const peekOn = (by: 1 | -1) => {
    const column = [...rows.values()].find((one) => peekedRow !== undefined && one.includes(peekedRow)) ?? [];
    setPeeked((now) => column[column.findIndex(({ key }) => key === now) + by]?.key ?? now);
  };
  const [newIn, setNewIn] = useState<IssueRow['status']>();
  const typed = useRef('');
  const quick = useQuickChanges(issues, () => (selected.size > 0 ? [...selected] : focused()));
  /** The issue that was selected last: a range begins there. */
  const anchor = useRef<string>(undefined);
  const inOrder = statuses.flatMap((status) => rows.get(status) ?? []);
  const toggle = (key: string, isRange = false) => {
    const from = isRange ? anchor.current : undefined;
    setSelected((now) => toggledTo(now, inOrder, key, from));
    anchor.current = key;
  };
  useEffect(() => noteOrder(inOrder.map(({ key }) => key)));
  const selectAll = () => setSelected(new Set(issues.map(({ key }) => key)));
  useCommands([
    { key: 'j', name: 'Next card', run: () => focusCard(0, 1) },
    { key: 'k', name: 'Previous card', run: () => focusCard(0, -1) },
    { key: 'ArrowRight', name: 'Next column', run: () => focusCard(1, 0) },
    { key: 'ArrowLeft', name: 'Previous column', run: () => focusCard(-1, 0) },
    { key: 'o', name: 'Open the issue', run: openCard },
    { key: 'Space', name: 'Peek at the issue', run: () => setPeeked(focusedCard()) },
    {
      key: 'x',
      name: 'Select the issue',
      run: () => {
        for (const key of focused()) toggle(key);
      },
    },
    { key: 'Ctrl+a', name: 'Select all loaded issues', run: selectAll },
    ...quick.commands,
    { key: '/', name: 'Search', run: () => searchField.current?.focus() },
    filterCommand,
    { key: 'Escape', name: 'Clear the selection', run: () => setSelected(new Set()) },
  ]);
  return (
    <main id="content" className="board-page">
      <div className="list-head">
        <h1>{view?.name ?? 'Board'}</h1>
        <ViewActions />
      </div>
      <ListFilters
        isBoard
        search={search}
        onChange={(changes) =>
          navigate({
            search: (now) => validateBoardSearch({ ...now, ...changes }),
            replace: 'q' in changes,
          })
        }
        onReset={() => void navigate({ search: {} })}
        searchField={searchField}
      />
      {selected.size > 0 && (
        <SelectionBar
          selected={selected}
          loaded={issues.length}
          total={total}
          onSelect={setSelected}
          onSelectAll={selectAll}
          onOpen={quick.open}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the columns also while they are empty */}
      <section className="board" aria-label="Columns" tabIndex={0}>
        {statuses.map((status) => (
          <BoardColumn
            key={status}
            status={status}
            name={statusNames[status]}
            filters={query}
            count={counts?.counts.find(({ value }) => value === status)}
            dragged={dragged}
            selected={selected}
            onDrag={setDragged}
            onRows={(issues) => setRows((known) => new Map(known).set(status, issues))}
            onDrop={(issue) => void change([issue], { status })}
            onSelect={toggle}
            onNew={() => setNewIn(status)}
            onMove={(key) => quick.open('status', [key])}
          />
        ))}
      </section>
      {quick.dialog}
      {newIn !== undefined && (
        <CreateDialog
          typed={typed}
          status={newIn}
          onClose={() => setNewIn(undefined)}
          onReopen={() => setNewIn(newIn)}
        />
      )}
      {peekedRow !== undefined && (
        <IssuePeek row={peekedRow} onMove={peekOn} onClose={() => setPeeked(undefined)} />
      )}
    </main>
  );
}
