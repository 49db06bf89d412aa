import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { IssueRow } from '../http/api.ts';
import { rowClicks, toggledTo } from '../quick-change/selection.ts';
import { isFocusLost } from '../shell/focus.ts';
import { useIsPhone } from '../shell/use-rail.ts';
import { lastPlace, noteOrder, notePlace } from './came-from.ts';
import { type Grouping, itemsOf } from './groups.ts';
import { GroupMark, IssueCells } from './issue-cells.tsx';
import { SortButton, sortOf } from './sort-button.tsx';

/** The keyboard's view of the table. */
export interface IssueTableHandle {
  move: (by: 1 | -1) => void;
  toggle: () => void;
  /** Moves, and selects both issues. */
  extend: (by: 1 | -1) => void;
  open: () => void;
  /** The key of the issue whose row had the focus last. */
  active: () => string | undefined;
}

interface IssueTableProps {
  ref: Ref<IssueTableHandle>;
  issues: readonly IssueRow[];
  /** The value of which each has a head. The issues are in the order of the groups. */
  by: Grouping;
  /** How many issues each group has, by its value. */
  counts: ReadonlyMap<string, string>;
  isCompact: boolean;
  order?: string | undefined;
  onOrder?: ((order: string) => void) | undefined;
  /** Names the filters and the order. */
  list: string;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  /** The end of the loaded issues is near the screen. Returns whether more are loaded. */
  onEnd: () => boolean;
  isLoadingMore: boolean;
  isStale: boolean;
}

const columns = ['Selected', 'Priority', 'Key', 'Title', 'Status', 'Assignee', 'Sync', 'Comments', 'Changed'];

const soughtMax = 1_000;

const linkOf = (key: string) => document.getElementById(`issue-${key}`);

/** Whether the column of the sync is shown, and the letters of the widest key. */
function columnsOf(issues: readonly IssueRow[]) {
  const hasSync = issues.some(({ sync }) => sync.state !== 'not_configured');
  // With the lock of a project that not everyone reads.
  const lengthOf = ({ key, project }: IssueRow) => key.length + (project.visibility === 'everyone' ? 0 : 2);
  return { hasSync, keyLength: issues.reduce((longest, issue) => Math.max(longest, lengthOf(issue)), 0) };
}

export function IssueTable(props: IssueTableProps) {
  const { ref, issues, by, counts, isCompact, order, onOrder, list, selected, onSelect } = props;
  const { onEnd, isLoadingMore, isStale } = props;
  const items = useMemo(() => itemsOf(issues, by), [issues, by]);
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const [wanted, setWanted] = useState(lastPlace()?.key);
  const isReturning = useRef(true);
  /** The page was loaded again, and the row is loaded with a later page. */
  const isSought = useRef(false);
  /** The issue that was selected last: a range begins there. */
  const anchor = useRef<string>(undefined);
  useLayoutEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  const isPhone = useIsPhone();
  const rowPx = isPhone ? 68 : isCompact ? 28 : 36;
  // A new function makes the virtualizer measure all rows again, which it would do for each frame.
  const getItemKey = useCallback(
    (index: number) => {
      const item = items[index];
      return item === undefined || 'head' in item
        ? `${item?.head.value}`
        : (issues[item.index]?.key ?? index);
    },
    [items, issues],
  );
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: (index) => ('head' in (items[index] ?? {}) ? 36 : rowPx),
    // For the Tab key and the next frame; more rows make scrolling slow.
    overscan: 2,
    scrollMargin: offset,
    // Below the header and the filters that stay on screen.
    scrollPaddingStart: isPhone ? 56 : 60,
    getItemKey,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: all heights change with it
  useLayoutEffect(() => rows.measure(), [rowPx]);
  const visible = rows.getVirtualItems();
  const last = visible.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= items.length - 15) onEnd();
  }, [last, items.length, onEnd]);

  // The row of the key exists only after it was scrolled to.
  useEffect(() => {
    if (wanted === undefined) return;
    const link = linkOf(wanted);
    if (link === null) return;
    if (!isReturning.current || isFocusLost()) link.focus({ preventScroll: true });
    isReturning.current = false;
    setWanted(undefined);
  });

  const indexOf = (key: string | undefined) => issues.findIndex((issue) => issue.key === key);
  const focusRow = (index: number) => {
    const key = issues[index]?.key;
    if (key === undefined) return;
    notePlace({ key, list, index });
    isReturning.current = false;
    rows.scrollToIndex(
      by === 'none' ? index : items.findIndex((item) => 'index' in item && item.index === index),
      {
        align: 'auto',
      },
    );
    setWanted(key);
  };
  const isEmpty = issues.length === 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    noteOrder(issues.map(({ key }) => key));
    const place = lastPlace();
    if (place === undefined || isEmpty) return;
    const index = indexOf(place.key);
    const isHere = place.list === list && isFocusLost();
    if (index >= 0) {
      notePlace({ ...place, list, index });
      if (isSought.current && isReturning.current && isHere) focusRow(index);
    } else if (isHere) {
      isSought.current =
        isReturning.current && place.index >= issues.length && issues.length < soughtMax && onEnd();
      // The row no longer matches the filters.
      if (!isSought.current) focusRow(Math.min(place.index, issues.length - 1));
    }
  }, [issues]);
  // A list that is opened by a key or a link starts at its top; the way back scrolls before the second frame.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once
  useEffect(() => {
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        const place = lastPlace();
        if (isReturning.current && place?.list === list && linkOf(place.key) === null && isFocusLost())
          focusRow(place.index);
      });
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  const toggle = (key: string, isRange = false) => {
    onSelect(toggledTo(selected, issues, key, isRange ? anchor.current : undefined));
    anchor.current = key;
  };
  const shownKey = () => {
    const key = lastPlace()?.key;
    return key === undefined || linkOf(key) === null ? undefined : key;
  };
  const next = (by: 1 | -1) => {
    const place = lastPlace();
    if (place === undefined) return 0;
    const index = indexOf(place.key);
    const isGone = index < 0;
    if (isGone && place.list !== list) return 0;
    // Its place has the next row already.
    const target = isGone ? place.index + Math.min(by, 0) : index + by;
    return Math.min(Math.max(target, 0), issues.length - 1);
  };
  useImperativeHandle(ref, () => ({
    move: (by) => focusRow(next(by)),
    extend: (by) => {
      const index = next(by);
      const keys = [shownKey(), issues[index]?.key].filter((key) => key !== undefined);
      onSelect(new Set([...selected, ...keys]));
      focusRow(index);
    },
    toggle: () => {
      const key = shownKey();
      if (key !== undefined) toggle(key);
    },
    open: () => linkOf(shownKey() ?? '')?.click(),
    active: shownKey,
  }));
  const { hasSync, keyLength } = useMemo(() => columnsOf(issues), [issues]);
  const isAll = issues.every(({ key }) => selected.has(key));

  return (
    // Only the visible rows exist, so the table states its size. A table element cannot have rows at positions.
    <div
      role="table"
      aria-label="Issues"
      aria-rowcount={items.length + 1}
      className={['table', !hasSync && 'without-sync', isCompact && 'compact'].filter(Boolean).join(' ')}
      aria-busy={isStale}
      style={{ '--key-length': keyLength } as CSSProperties}
    >
      <div role="row" className="row row-head" aria-rowindex={1}>
        {columns
          .filter((name) => name !== 'Sync' || hasSync)
          .map((name) => (
            <span
              role="columnheader"
              key={name}
              className={`cell-${name.toLowerCase()}`}
              aria-sort={sortOf(name, order)}
            >
              {name === 'Selected' ? (
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={isAll}
                  ref={(box) => {
                    if (box !== null)
                      box.indeterminate = !isAll && issues.some(({ key }) => selected.has(key));
                  }}
                  onChange={() => onSelect(new Set(isAll ? [] : issues.map(({ key }) => key)))}
                />
              ) : order !== undefined && onOrder !== undefined && sortOf(name, order) !== undefined ? (
                <SortButton name={name} order={order} onOrder={onOrder} />
              ) : (
                name
              )}
            </span>
          ))}
      </div>
      <div role="rowgroup" ref={body} className="table-body" style={{ height: rows.getTotalSize() }}>
        {visible.map(({ index: line, start }) => {
          const item = items[line];
          if (item === undefined) return null;
          const style = { transform: `translateY(${start - offset}px)` };
          if ('head' in item)
            return (
              <div
                role="row"
                key={item.head.value}
                aria-rowindex={line + 2}
                className="group-head"
                style={style}
              >
                <span role="cell" aria-colspan={columns.length - (hasSync ? 0 : 1)}>
                  <GroupMark by={by} group={item.head} />
                  <span className="group-count">{counts.get(item.head.value) ?? item.loaded}</span>
                </span>
              </div>
            );
          const { index } = item;
          const issue = issues[index];
          if (issue === undefined) return null;
          const isSelected = selected.has(issue.key);
          return (
            <div
              role="row"
              key={issue.key}
              aria-rowindex={line + 2}
              className={isSelected ? 'row selected' : 'row'}
              style={style}
              onFocus={() => {
                notePlace({ key: issue.key, list, index });
              }}
              {...rowClicks((isRange) => toggle(issue.key, isRange))}
            >
              <span role="cell" className="cell-selected">
                <input
                  type="checkbox"
                  aria-label={`Select ${issue.key}`}
                  checked={isSelected}
                  onChange={({ nativeEvent }) => toggle(issue.key, (nativeEvent as MouseEvent).shiftKey)}
                />
              </span>
              <IssueCells issue={issue} hasSync={hasSync} />
            </div>
          );
        })}
      </div>
      {isLoadingMore && <p className="muted table-end">Loading…</p>}
    </div>
  );
}
