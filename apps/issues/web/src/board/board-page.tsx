import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { call, type IssueRow } from '../http/api.ts';
import { firstFilterId, ListFilters } from '../issue-list/list-filters.tsx';
import { apiQuery, validateBoardSearch } from '../issue-list/list-search.ts';
import { statuses, statusNames } from '../messages.ts';
import { SelectionBar, toggled } from '../quick-change/selection-bar.tsx';
import { useQuickChanges } from '../quick-change/use-quick-changes.tsx';
import { useRowChanges } from '../quick-change/use-row-changes.ts';
import { useCommands } from '../shell/commands.ts';
import { useTitle } from '../shell/use-title.ts';
import { BoardColumn } from './board-column.tsx';
import { focusCard, focusedCard, keepFocus, openCard } from './card-focus.ts';

/** The issues by status. A card moves to the columns that the workflow allows. */
export function BoardPage() {
  useTitle('Board');
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
  const change = useRowChanges();
  const issues = [...rows.values()].flat();
  const changed = useRef<string>(undefined);
  const focused = () => {
    const key = focusedCard();
    changed.current = key;
    return key === undefined ? [] : [key];
  };
  // The card may have moved to another column.
  useEffect(() => {
    if (changed.current !== undefined) keepFocus(changed.current);
  });
  const quick = useQuickChanges(issues, () => {
    const keys = focused();
    return selected.size > 0 ? [...selected] : keys;
  });
  useCommands([
    { key: 'j', name: 'Next card', run: () => focusCard(0, 1) },
    { key: 'k', name: 'Previous card', run: () => focusCard(0, -1) },
    { key: 'ArrowRight', name: 'Next column', run: () => focusCard(1, 0) },
    { key: 'ArrowLeft', name: 'Previous column', run: () => focusCard(-1, 0) },
    { key: 'o', name: 'Open the issue', run: openCard },
    {
      key: 'x',
      name: 'Select the issue',
      run: () => setSelected(focused().reduce(toggled, selected)),
    },
    ...quick.commands,
    { key: '/', name: 'Search', run: () => searchField.current?.focus() },
    { key: 'f', name: 'Filter', run: () => document.getElementById(firstFilterId)?.click() },
    { key: 'Escape', name: 'Clear the selection', run: () => setSelected(new Set()) },
  ]);
  return (
    <main id="content" className="board-page">
      <div className="list-head">
        <h1>Board</h1>
      </div>
      <ListFilters
        isBoard
        search={search}
        onChange={(changes) =>
          void navigate({
            search: (now) => validateBoardSearch({ ...now, ...changes }),
            replace: 'q' in changes,
          })
        }
        onReset={() => void navigate({ search: {} })}
        searchField={searchField}
      />
      <SelectionBar selected={selected} onSelect={setSelected} onOpen={quick.open} />
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
            onMove={(key) => {
              changed.current = key;
              quick.open('status', [key]);
            }}
          />
        ))}
      </section>
      {quick.dialog}
    </main>
  );
}
