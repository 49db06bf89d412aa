import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import type { IssueRow } from '../http/api.ts';
import { fullTime, personName, shortTime, syncNames } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { toggled } from '../quick-change/selection-bar.tsx';
import { isFocusLost } from '../shell/focus.ts';
import { CommentIcon, LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';

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
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  /** The end of the loaded issues is near the screen. */
  onEnd: () => void;
  isLoadingMore: boolean;
  isStale: boolean;
}

const columns = ['Selected', 'Priority', 'Key', 'Title', 'Status', 'Assignee', 'Sync', 'Comments', 'Changed'];

// Remembered, so that going back from an issue returns to its row.
let activeKey: string | undefined;

const linkOf = (key: string) => document.getElementById(`issue-${key}`);

export function IssueTable(props: IssueTableProps) {
  const { ref, issues, selected, onSelect, onEnd, isLoadingMore, isStale } = props;
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const [wanted, setWanted] = useState(activeKey);
  const isReturning = useRef(true);
  useLayoutEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: issues.length,
    estimateSize: () => (matchMedia('(max-width: 767px)').matches ? 68 : 41),
    // For the Tab key and the next frame; more rows make scrolling slow.
    overscan: 2,
    scrollMargin: offset,
    // Below the header that stays on screen.
    scrollPaddingStart: 56,
    getItemKey: (index) => issues[index]?.key ?? index,
  });
  const visible = rows.getVirtualItems();
  const hasSync = issues.some(({ sync }) => sync.state !== 'not_configured');
  const last = visible.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= issues.length - 15) onEnd();
  }, [last, issues.length, onEnd]);

  // The row of the key exists only after it was scrolled to.
  useEffect(() => {
    if (wanted === undefined) return;
    const link = linkOf(wanted);
    if (link === null) return;
    if (!isReturning.current || isFocusLost()) link.focus({ preventScroll: true });
    isReturning.current = false;
    setWanted(undefined);
  });

  const focusRow = (index: number) => {
    const key = issues[index]?.key;
    if (key === undefined) return;
    activeKey = key;
    isReturning.current = false;
    rows.scrollToIndex(index, { align: 'auto' });
    setWanted(key);
  };
  const toggle = (key: string) => onSelect(toggled(selected, key));
  const shownKey = () => (linkOf(activeKey ?? '') === null ? undefined : activeKey);
  const next = (by: 1 | -1) => {
    const index = issues.findIndex(({ key }) => key === activeKey);
    return index < 0 ? 0 : Math.min(Math.max(index + by, 0), issues.length - 1);
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

  return (
    // Only the visible rows exist, so the table states its size. A table element cannot have rows at positions.
    <div
      role="table"
      aria-label="Issues"
      aria-rowcount={issues.length + 1}
      className={hasSync ? 'table' : 'table without-sync'}
      aria-busy={isStale}
    >
      <div role="row" className="row row-head" aria-rowindex={1}>
        {columns
          .filter((name) => name !== 'Sync' || hasSync)
          .map((name) => (
            <span role="columnheader" key={name} className={`cell-${name.toLowerCase()}`}>
              {name}
            </span>
          ))}
      </div>
      <div role="rowgroup" ref={body} className="table-body" style={{ height: rows.getTotalSize() }}>
        {visible.map(({ index, start }) => {
          const issue = issues[index];
          if (issue === undefined) return null;
          const isSelected = selected.has(issue.key);
          return (
            <div
              role="row"
              key={issue.key}
              aria-rowindex={index + 2}
              className={isSelected ? 'row selected' : 'row'}
              style={{ transform: `translateY(${start - offset}px)` }}
              onFocus={() => {
                activeKey = issue.key;
              }}
            >
              <span role="cell" className="cell-selected">
                <input
                  type="checkbox"
                  aria-label={`Select ${issue.key}`}
                  checked={isSelected}
                  onChange={() => toggle(issue.key)}
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

/** Has few elements, because all cells are made again while the list scrolls. */
function IssueCells({ issue, hasSync }: { issue: IssueRow; hasSync: boolean }) {
  const { key, title, priority, status, assignee, labels, sync, comments_count, updated_at } = issue;
  return (
    <>
      <span role="cell" className="cell-priority">
        <PriorityMark priority={priority} />
      </span>
      <span role="cell" className="cell-key">
        {key}
      </span>
      <span role="cell" className="cell-title">
        <Link to="/issues/$key" params={{ key }} id={`issue-${key}`} className="title-link" dir="auto">
          {title}
        </Link>
        {labels.length > 0 && (
          <span className="labels">
            {labels.map(({ id, name, color }) => (
              <LabelMark key={id} name={name} color={color} />
            ))}
          </span>
        )}
      </span>
      <span role="cell" className="cell-status">
        <StatusMark status={status} />
      </span>
      <span role="cell" className="cell-assignee person">
        {assignee === null ? (
          <span className="muted">No one</span>
        ) : (
          <>
            <Avatar person={assignee} />
            <span className="person-name" dir="auto">
              {personName(assignee)}
            </span>
          </>
        )}
      </span>
      {hasSync && (
        <span role="cell" className={`cell-sync sync-${sync.state}`}>
          {syncNames[sync.state]}
        </span>
      )}
      <span role="cell" className="cell-comments">
        {comments_count > 0 && (
          <>
            <CommentIcon />
            {comments_count}
            <span className="visually-hidden"> {comments_count === 1 ? 'comment' : 'comments'}</span>
          </>
        )}
      </span>
      <time role="cell" className="cell-changed" dateTime={updated_at} title={fullTime(updated_at)}>
        {shortTime(updated_at)}
      </time>
    </>
  );
}
