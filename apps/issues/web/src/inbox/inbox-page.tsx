import '../styles/tabs.css';
import '../styles/inbox.css';
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Notification } from '@tessera/contracts';
import { useEffect, useRef, useState } from 'react';
import { readIssues, readPage } from '../http/api.ts';
import { countOf, setUnread, shownCount, useUnread } from '../http/unread.ts';
import { noteList, noteOrder } from '../issue-list/came-from.ts';
import { useCommands } from '../shell/commands.ts';
import { useTitle } from '../shell/use-title.ts';
import { CalmPicture } from './inbox-icons.tsx';
import { InboxRows, type InboxRowsHandle } from './inbox-rows.tsx';
import { SnoozeDialog } from './snooze-dialog.tsx';
import { useMarked, useMarks } from './use-marks.ts';
import { type View, validateInboxSearch, viewNames, viewQueries, views } from './views.ts';

/** What happened that concerns the user, the newest first. */
export function InboxPage() {
  useTitle('Inbox');
  const search = useSearch({ from: '/app/inbox', select: validateInboxSearch, structuralSharing: true });
  const { view = 'all' } = search;
  const navigate = useNavigate({ from: '/inbox' });
  const client = useQueryClient();
  const unread = useUnread();
  const marks = useMarks();
  const rows = useRef<InboxRowsHandle>(null);
  const [snoozed, setSnoozed] = useState<Notification>();
  const list = useInfiniteQuery({
    queryKey: ['notifications', view],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...viewQueries[view], limit: 50, cursor: pageParam };
      const page = await readPage('listNotifications', { query, signal });
      setUnread(client, countOf(page.headers));
      return page;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const loaded = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const shown = useMarked(loaded);
  // One request, of the newest notifications. A further one reads its issue again.
  const newest = loaded.slice(0, 50);
  const { data: noted } = useQuery({
    queryKey: ['noted', newest.map(({ id }) => id)],
    queryFn: ({ signal }) =>
      readIssues({ id: [...new Set(newest.map(({ issue }) => issue.key))] }, undefined, signal),
    enabled: newest.length > 0,
    placeholderData: keepPreviousData,
  });
  const issues = new Map(noted?.items.map((one) => [one.key, one]));
  useEffect(() => noteList('/inbox', search), [search]);
  useEffect(() => noteOrder([...new Set(shown.map(({ issue }) => issue.key))]));
  const isEmpty = list.isSuccess && shown.length === 0 && !list.hasNextPage;
  // The rows that were loaded are done.
  const isShort = shown.length === 0 && list.hasNextPage;
  useEffect(() => {
    if (isShort && !list.isFetching && !list.isError) void list.fetchNextPage();
  });

  const isInbox = view === 'all' || view === 'unread';
  const done = (one: Notification) =>
    void (one.done_at === null ? marks.done([one], `${one.issue.key} is done`) : marks.restore(one));
  const act = (run: (one: Notification) => unknown) => () => {
    const one = rows.current?.active();
    if (one !== undefined) run(one);
  };
  const snooze = (one: Notification) => {
    if (one.done_at === null) setSnoozed(one);
  };
  useCommands([
    { key: 'j', name: 'Next notification', run: () => rows.current?.move(1) },
    { key: 'k', name: 'Previous notification', run: () => rows.current?.move(-1) },
    { key: 'o', name: 'Open the issue', run: () => rows.current?.open() },
    {
      key: 'e',
      name: view === 'done' ? 'Move the notification back to the inbox' : 'Mark the notification as done',
      run: act(done),
    },
    {
      key: 'u',
      name: 'Mark the notification as unread or read',
      run: act((one) => {
        if (one.done_at === null && one.snoozed_until === null) void marks.toggleRead(one);
      }),
    },
    ...(isInbox
      ? [
          {
            key: 'E',
            name: 'Mark all notifications as done',
            run: () => void marks.allDone(viewQueries[view], shown),
          },
        ]
      : []),
    { key: 'h', name: 'Snooze the notification', run: act(snooze) },
    {
      key: 'M',
      name: 'Mute the issue of the notification',
      run: act((one) => void marks.mute(one, loaded)),
    },
  ]);
  const show = (next: View) => void navigate({ search: next === 'all' ? {} : { view: next } });
  return (
    <main id="content" className="inbox-page">
      <div className="inbox-head">
        <h1>Inbox</h1>
        <p className="muted" role="status">
          {list.isPending ? 'Loading…' : unread > 0 && `${shownCount(unread)} unread`}
        </p>
        {isInbox && shown.length > 0 && (
          <button
            type="button"
            className="quiet"
            title="Mark all as done ( E )"
            onClick={() => void marks.allDone(viewQueries[view], shown)}
          >
            Mark all as done
          </button>
        )}
      </div>
      <fieldset className="views">
        <legend className="visually-hidden">Show</legend>
        {views.map((one) => (
          <button type="button" key={one} aria-pressed={one === view} onClick={() => show(one)}>
            {viewNames[one]}
          </button>
        ))}
      </fieldset>
      {list.isError && (
        <div className="notice" role="alert">
          <p>The notifications could not be loaded. {list.error.message}</p>
          <button type="button" className="primary" onClick={() => void list.refetch()}>
            Try again
          </button>
        </div>
      )}
      {isEmpty && <Nothing view={view} onShowAll={() => show('all')} />}
      {shown.length > 0 && (
        <InboxRows
          ref={rows}
          notifications={shown}
          issues={issues}
          list={view}
          onDone={done}
          onSnooze={snooze}
          onEnd={() => {
            if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
          }}
        />
      )}
      {list.isFetchingNextPage && <p className="muted inbox-end">Loading…</p>}
      {snoozed !== undefined && (
        <SnoozeDialog
          notification={snoozed}
          onSnooze={(until, name) => void marks.snooze(snoozed, until, name)}
          onClose={() => setSnoozed(undefined)}
        />
      )}
    </main>
  );
}

function Nothing({ view, onShowAll }: { view: View; onShowAll: () => void }) {
  if (view === 'snoozed' || view === 'done')
    return (
      <div className="inbox-empty">
        <p className="muted">
          {view === 'done'
            ? 'What you have done is kept here for a month.'
            : 'Nothing is snoozed. Press h on a notification to see it again later.'}
        </p>
      </div>
    );
  return (
    <div className="inbox-empty">
      <CalmPicture />
      <h2>{view === 'all' ? 'All done' : 'Nothing unread'}</h2>
      <p className="muted">
        {view === 'all'
          ? 'Nothing waits for you. Mentions, assignments and changes of issues that you watch arrive here.'
          : 'You have read everything.'}
      </p>
      {view === 'all' ? (
        <Link to="/my" className="inbox-next">
          Go to my issues
        </Link>
      ) : (
        <button type="button" onClick={onShowAll}>
          Show all
        </button>
      )}
    </div>
  );
}
