import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { Notification } from '@tessera/contracts';
import {
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { IssueRow } from '../http/api.ts';
import { places } from '../issue-list/came-from.ts';
import { Avatar } from '../people/avatar.tsx';
import { isFocusLost } from '../shell/focus.ts';
import { InboxIcon } from '../shell/icons.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { CheckIcon, ClockIcon } from './inbox-icons.tsx';
import { actorOf, changeOf, reasonNames } from './notification-text.ts';

/** The keyboard's view of the rows. */
export interface InboxRowsHandle {
  move: (by: 1 | -1) => void;
  open: () => void;
  /** The notification whose row had the focus last. */
  active: () => Notification | undefined;
}

interface InboxRowsProps {
  ref: Ref<InboxRowsHandle>;
  notifications: readonly Notification[];
  /** The issues as they are now, by key, as far as they were read. */
  issues: ReadonlyMap<string, IssueRow>;
  /** Names the view. */
  list: string;
  onDone: (notification: Notification) => void;
  onSnooze: (notification: Notification) => void;
  onEnd: () => void;
}

/** A row of a view. */
export interface NotePlace {
  list: string;
  id: number;
  index: number;
  /** The issue to which the user has gone on from that of the row. */
  at?: string;
}

/** The row that is coming back, because the user has undone its mark. */
let awaited: Pick<NotePlace, 'list' | 'id'> | undefined;

/** Remembers which of the rows that are about to leave has the focus. @returns a function that gives it back when they are there again */
export function rowToReturn(ids: readonly number[]): () => void {
  const { note } = places;
  if (note === undefined) return () => undefined;
  const id = ids.includes(note.id) ? note.id : (ids[0] ?? note.id);
  return () => {
    awaited = { list: note.list, id };
  };
}

/** The row to which the way back leads. */
function rowOf(
  { list: of, at, id }: Partial<NotePlace> = {},
  list: string,
  notifications: readonly Notification[],
): number | undefined {
  if (of !== list) return undefined;
  const index = notifications.findIndex(({ issue }) => issue.key === at);
  const found = notifications[index]?.id;
  if (found !== undefined) places.note = { list, id: found, index };
  return found ?? id;
}

const rowPx = 60;
const linkOf = (id: number | undefined) => document.getElementById(`notification-${id}`);

export function InboxRows({ ref, notifications, issues, list, onDone, onSnooze, onEnd }: InboxRowsProps) {
  const body = useRef<HTMLOListElement>(null);
  const [offset, setOffset] = useState(0);
  const [wanted, setWanted] = useState(() => rowOf(places.note, list, notifications));
  const isReturning = useRef(true);
  useLayoutEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: notifications.length,
    estimateSize: () => rowPx,
    overscan: 2,
    scrollMargin: offset,
    scrollPaddingStart: 60,
    getItemKey: useCallback((index: number) => notifications[index]?.id ?? index, [notifications]),
  });
  const visible = rows.getVirtualItems();
  const last = visible.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= notifications.length - 15) onEnd();
  }, [last, notifications.length, onEnd]);
  // The row exists only after it was scrolled to.
  useEffect(() => {
    const link = linkOf(wanted);
    if (wanted === undefined || link === null) return;
    if (!isReturning.current || isFocusLost()) link.focus({ preventScroll: true });
    isReturning.current = false;
    setWanted(undefined);
  });
  const indexOf = (id: number | undefined) => notifications.findIndex((one) => one.id === id);
  const focusRow = (index: number) => {
    const id = notifications[index]?.id;
    if (id === undefined) return;
    places.note = { list, id, index };
    isReturning.current = false;
    rows.scrollToIndex(index, { align: 'auto' });
    setWanted(id);
  };
  const ids = notifications.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each list of rows
  useEffect(() => {
    if (ids === '') return;
    const returned = awaited?.list === list ? indexOf(awaited.id) : -1;
    if (returned >= 0) {
      awaited = undefined;
      if (isFocusLost() || body.current?.contains(document.activeElement)) return focusRow(returned);
    }
    const place = places.note;
    if (place?.list !== list) return;
    const index = indexOf(place.id);
    if (index >= 0) places.note = { ...place, index };
    // The next row takes the place of one that has left.
    else if (isFocusLost()) focusRow(Math.min(place.index, notifications.length - 1));
    else
      places.note = {
        list,
        id: notifications[Math.min(place.index, notifications.length - 1)]?.id ?? 0,
        index: place.index,
      };
  }, [ids]);
  const indexHere = () => (places.note?.list === list ? indexOf(places.note.id) : -1);
  const active = () => notifications[indexHere()];
  useImperativeHandle(ref, () => ({
    move: (by) => {
      awaited = undefined;
      const here = indexHere();
      const index = here < 0 ? 0 : here + by;
      focusRow(Math.min(Math.max(index, 0), notifications.length - 1));
    },
    open: () => linkOf(active()?.id)?.click(),
    active,
  }));
  return (
    <ol className="inbox-rows" aria-label="Notifications" ref={body} style={{ height: rows.getTotalSize() }}>
      {visible.map(({ index, start }) => {
        const one = notifications[index];
        if (one === undefined) return null;
        return (
          <li
            key={one.id}
            className={one.read_at === null ? 'note unread' : 'note'}
            style={{ transform: `translateY(${start - offset}px)` }}
            aria-posinset={index + 1}
            aria-setsize={notifications.length}
            onFocus={() => {
              places.note = { list, id: one.id, index };
            }}
          >
            <Row notification={one} issues={issues} onDone={onDone} onSnooze={onSnooze} />
          </li>
        );
      })}
    </ol>
  );
}

type RowProps = { notification: Notification } & Pick<InboxRowsProps, 'issues' | 'onDone' | 'onSnooze'>;

function Row({ notification: one, issues, onDone, onSnooze }: RowProps) {
  const { issue, actor, reason } = one;
  const isDone = one.done_at !== null;
  return (
    <>
      <span className="note-dot">
        {one.read_at === null && <span className="visually-hidden">Unread: </span>}
      </span>
      {actor === null ? <InboxIcon /> : <Avatar person={actor} />}
      <span className="note-text">
        <span className="note-title">
          <Link
            to="/issues/$key"
            params={{ key: issue.key }}
            id={`notification-${one.id}`}
            className="note-link"
            dir="auto"
          >
            {issue.title}
          </Link>
          <span className="note-key">{issue.key}</span>
        </span>
        <span className="note-change">
          <bdi>{actorOf(one)}</bdi> {changeOf(one, issues.get(issue.key))}
        </span>
      </span>
      <span className={`note-reason reason-${reason}`}>{reasonNames[reason]}</span>
      <RelativeTime className="note-time" at={one.created_at} />
      <span className="note-actions">
        <button
          type="button"
          className="quiet"
          aria-label={isDone ? `Back to the inbox: ${issue.key}` : `Done: ${issue.key}`}
          title={isDone ? 'Back to the inbox ( e )' : 'Done ( e )'}
          onClick={() => onDone(one)}
        >
          {isDone ? <InboxIcon /> : <CheckIcon />}
        </button>
        {!isDone && (
          <button
            type="button"
            className="quiet"
            aria-label={`Snooze: ${issue.key}`}
            title="Snooze ( h )"
            onClick={() => onSnooze(one)}
          >
            <ClockIcon />
          </button>
        )}
      </span>
    </>
  );
}
