import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { skipToken, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { IssueStatus } from '@tessera/contracts';
import { useEffect, useRef, useState } from 'react';
import { type IssueQuery, type IssueRow, listIssues } from '../http/api.ts';
import { newIssuesKey } from '../live/connection.ts';
import { formatNumber } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { BlockedMark, DueMark } from '../people/due-date.tsx';
import { rowClicks } from '../quick-change/selection.ts';
import { CommentIcon, LabelMark, LockMark, PlusIcon, PriorityMark, StatusMark } from '../shell/icons.tsx';

interface ColumnProps {
  status: IssueStatus;
  name: string;
  filters: IssueQuery;
  count: { count: number; is_capped: boolean } | undefined;
  /** The issue that is being dragged over the board. */
  dragged: IssueRow | undefined;
  /** The keys of the selected issues. */
  selected: ReadonlySet<string>;
  onDrag: (issue: IssueRow | undefined) => void;
  onRows: (issues: readonly IssueRow[]) => void;
  onDrop: (issue: IssueRow) => void;
  onSelect: (key: string, isRange: boolean) => void;
  /** The user chooses another column by the keyboard. */
  onMove: (key: string) => void;
  onNew: () => void;
}

export function BoardColumn(props: ColumnProps) {
  const { status, name, filters, count, dragged, selected, onDrag, onRows, onDrop, onSelect, onMove } = props;
  const client = useQueryClient();
  const query = { ...filters, status: [status], ordering: '-updated_at' };
  const queryKey = ['issues', query];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => listIssues(query, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  // A row whose status has changed belongs to another column.
  const issues =
    list.data?.pages.flatMap((page) => page.items).filter((issue) => issue.status === status) ?? [];
  const { data: arrived = [] } = useQuery<string[]>({ queryKey: newIssuesKey(query), queryFn: skipToken });
  const hasArrived = arrived.length > 0;
  useEffect(() => {
    if (!hasArrived) return;
    client.setQueryData(newIssuesKey(query), []);
    void client.invalidateQueries({ queryKey });
  });
  const shown = issues.map(({ key, updated_at, is_blocked }) => `${key} ${updated_at} ${is_blocked}`).join();
  const tell = useRef(onRows);
  tell.current = onRows;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys, times and marks say whether the issues have changed
  useEffect(() => tell.current(issues), [shown]);

  const element = useRef<HTMLElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = useRef(onDrop);
  drop.current = onDrop;
  useEffect(() => {
    if (element.current === null) return;
    return dropTargetForElements({
      element: element.current,
      canDrop: ({ source }) => issueIn(source.data).allowed_transitions.includes(status),
      onDragEnter: () => setOver(true),
      onDragLeave: () => setOver(false),
      onDrop: ({ source }) => {
        setOver(false);
        drop.current(issueIn(source.data));
      },
    });
  }, [status]);

  const isClosed =
    dragged !== undefined && dragged.status !== status && !dragged.allowed_transitions.includes(status);
  const total = count?.count ?? issues.length;
  return (
    <section
      ref={element}
      data-column={status}
      className={['column', isOver && 'over', isClosed && 'closed'].filter(Boolean).join(' ')}
      aria-labelledby={`column-${status}`}
    >
      <header>
        <h2 id={`column-${status}`}>
          <StatusMark status={status} />
        </h2>
        <span className="muted">
          {formatNumber(total)}
          {count?.is_capped === true && '+'}
          <span className="visually-hidden">{total === 1 ? ' issue' : ' issues'}</span>
        </span>
        {/* No issue begins as a reopened one. */}
        {status !== 'REOPENED' && (
          <button type="button" className="quiet" aria-label={`New issue in ${name}`} onClick={props.onNew}>
            <PlusIcon />
          </button>
        )}
      </header>
      {isClosed && <p className="column-note">Not from {dragged.status.toLowerCase().replace('_', ' ')}</p>}
      {list.isError && (
        <div role="alert">
          <p>{list.error.message}</p>
          <button type="button" onClick={() => void list.refetch()}>
            Try again
          </button>
        </div>
      )}
      {list.isPending && <p className="muted">Loading…</p>}
      {list.isSuccess && issues.length === 0 && !list.hasNextPage && <p className="muted">No issues</p>}
      <ol>
        {issues.map((issue) => (
          <Card
            key={issue.key}
            issue={issue}
            isSelected={selected.has(issue.key)}
            onDrag={onDrag}
            onSelect={onSelect}
            onMove={onMove}
          />
        ))}
      </ol>
      {list.hasNextPage && (
        <button
          type="button"
          className="quiet"
          disabled={list.isFetching}
          onClick={() => void list.fetchNextPage()}
        >
          Show more in {name}
        </button>
      )}
    </section>
  );
}

const issueIn = (data: Record<string | symbol, unknown>) => data.issue as IssueRow;

interface CardProps {
  issue: IssueRow;
  isSelected: boolean;
  onDrag: ColumnProps['onDrag'];
  onSelect: ColumnProps['onSelect'];
  onMove: ColumnProps['onMove'];
}

function Card({ issue, isSelected, onDrag, onSelect, onMove }: CardProps) {
  const { key, project, title, priority, labels, assignee, comments_count } = issue;
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (element.current === null) return;
    return draggable({
      element: element.current,
      getInitialData: () => ({ issue }),
      onDragStart: () => onDrag(issue),
      onDrop: () => onDrag(undefined),
    });
  }, [issue, onDrag]);
  return (
    <li
      ref={element}
      className={isSelected ? 'card selected' : 'card'}
      data-card={key}
      {...rowClicks((isRange) => onSelect(key, isRange))}
    >
      <div className="card-head">
        <span className="muted">
          {key}
          <LockMark visibility={project.visibility} />
          {isSelected && <span className="visually-hidden"> selected</span>}
        </span>
        <button type="button" className="quiet" aria-label={`Move ${key} to…`} onClick={() => onMove(key)}>
          Move
        </button>
        {assignee !== null && <Avatar person={assignee} />}
      </div>
      <Link
        to="/issues/$key"
        params={{ key }}
        id={`issue-${key}`}
        className="title-link"
        dir="auto"
        draggable={false}
      >
        {title}
      </Link>
      <div className="card-foot">
        <PriorityMark priority={priority} />
        <BlockedMark issue={issue} />
        <DueMark issue={issue} />
        {labels.map(({ id, name, color }) => (
          <LabelMark key={id} name={name} color={color} />
        ))}
        {comments_count > 0 && (
          <span className="muted card-comments">
            <CommentIcon />
            {comments_count}
            <span className="visually-hidden"> {comments_count === 1 ? 'comment' : 'comments'}</span>
          </span>
        )}
      </div>
    </li>
  );
}
