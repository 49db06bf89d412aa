import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import type { Notification } from '@tessera/contracts';
import type { RequestOf } from '@tessera/contracts/requests';
import { useSyncExternalStore } from 'react';
import { call, readPage } from '../http/api.ts';
import { inOrder } from '../http/own-changes.ts';
import { isRepeated } from '../http/queries.ts';
import { setUnread } from '../http/unread.ts';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';
import { rowToReturn } from './inbox-rows.tsx';

/** How a notification is shown until the lists are read again: changed, or not at all. */
type Shown = Partial<Notification> | 'gone';

let overlay: ReadonlyMap<number, Shown> = new Map();
let running = 0;
const listeners = new Set<() => void>();

function setOverlay(next: ReadonlyMap<number, Shown>): void {
  overlay = next;
  for (const listener of listeners) listener();
}

function lay(ids: readonly number[], shown: Shown | undefined): void {
  const next = new Map(overlay);
  for (const id of ids) {
    if (shown === undefined) next.delete(id);
    else next.set(id, shown);
  }
  setOverlay(next);
}

/** Returns the notifications as they are after the marks of the user, also those that the service has not answered yet. */
export function useMarked(notifications: readonly Notification[]): Notification[] {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => overlay,
  );
  return notifications.flatMap((one) => {
    const shown = now.get(one.id);
    if (shown === 'gone') return [];
    return [shown === undefined ? one : { ...one, ...shown }];
  });
}

const listKey = ['notifications'];

/** Reads the lists again. One that is long keeps its rows: they would be read page after page. */
const refresh = (client: QueryClient) =>
  client.invalidateQueries({ queryKey: listKey, predicate: (query) => isRepeated(query) });

type Operation =
  | 'markNotificationsRead'
  | 'markNotificationsUnread'
  | 'markNotificationsDone'
  | 'restoreNotifications';

interface Mark {
  notifications: readonly Notification[];
  shown: Shown;
  send: (ids: number[]) => Promise<{ unread_count: number }>;
}

type ListQuery = RequestOf<'listNotifications'>['query'];
const maxIds = 100;

/** The ids of a list, page after page. */
async function idsOfAll(query: ListQuery): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await readPage('listNotifications', { query: { ...query, limit: 200, cursor } });
    ids.push(...idsOf(page.items));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

const idsOf = (notifications: readonly Notification[]) => notifications.map(({ id }) => id);

/** Marks are shown at once, and undone with the reason if the service refuses them. */
export function useMarks() {
  const client = useQueryClient();
  const operation = (id: Operation) => (ids: number[]) => call(id, { body: { ids } });
  /** @returns whether the service has done it */
  const mark = async ({ notifications, shown, send }: Mark): Promise<boolean> => {
    const ids = idsOf(notifications);
    lay(ids, shown);
    running += 1;
    let isDone = true;
    try {
      setUnread(client, (await inOrder(() => send(ids))).unread_count);
    } catch (error) {
      isDone = false;
      lay(ids, undefined);
      notify(`Not saved: ${error instanceof Error ? error.message : ''}`);
    }
    running -= 1;
    // An answer to an earlier read would show the rows of marks that are on their way. A mark can be undone before it arrives.
    if (running === 0) void refresh(client).then(endOverlay);
    return isDone;
  };
  const endOverlay = () => {
    const areLong = client
      .getQueryCache()
      .findAll({ queryKey: listKey, predicate: (one) => !isRepeated(one) });
    if (running === 0 && areLong.length === 0) setOverlay(new Map());
  };
  const undoable = async (one: Mark, text: string, undo: () => Promise<unknown>) => {
    const ids = idsOf(one.notifications);
    const returnTo = one.shown === 'gone' ? rowToReturn(ids) : () => undefined;
    if (!(await mark(one))) return;
    notifyDone(text, () =>
      takeBack(
        async () => {
          await undo();
          returnTo();
          lay(ids, undefined);
        },
        () => refresh(client),
      ),
    );
  };
  const undoBy = (id: Operation, notifications: readonly Notification[]) => async () =>
    setUnread(client, (await operation(id)(idsOf(notifications))).unread_count);
  const snoozeUntil = (until: string) => (ids: number[]) =>
    call('snoozeNotifications', { body: { ids, until } });

  const inParts = async (id: Operation, ids: readonly number[]) => {
    let answer = { unread_count: 0 };
    for (let begin = 0; begin < ids.length; begin += maxIds)
      answer = await operation(id)(ids.slice(begin, begin + maxIds));
    return answer;
  };

  return {
    toggleRead: (one: Notification) =>
      one.read_at === null
        ? undoable(
            { notifications: [one], shown: { read_at: now() }, send: operation('markNotificationsRead') },
            `${one.issue.key} is read`,
            undoBy('markNotificationsUnread', [one]),
          )
        : undoable(
            { notifications: [one], shown: { read_at: null }, send: operation('markNotificationsUnread') },
            `${one.issue.key} is unread`,
            undoBy('markNotificationsRead', [one]),
          ),
    done: (notifications: readonly Notification[], text: string) =>
      undoable({ notifications, shown: 'gone', send: operation('markNotificationsDone') }, text, async () => {
        const [one] = notifications;
        if (one?.snoozed_until === null || one?.snoozed_until === undefined)
          return undoBy('restoreNotifications', notifications)();
        await undoBy('restoreNotifications', notifications)();
        return snoozeUntil(one.snoozed_until)([one.id]);
      }),
    /** Also those that are not loaded, of all or of the unread ones; what arrives meanwhile stays. */
    allDone: async (query: ListQuery, loaded: readonly Notification[]) => {
      let ids: number[] = [];
      await undoable(
        {
          notifications: loaded,
          shown: 'gone',
          send: async () => {
            ids = await idsOfAll(query);
            return inParts('markNotificationsDone', ids);
          },
        },
        'All notifications are done',
        async () => setUnread(client, (await inParts('restoreNotifications', ids)).unread_count),
      );
    },
    restore: (one: Notification) =>
      undoable(
        { notifications: [one], shown: 'gone', send: operation('restoreNotifications') },
        `${one.issue.key} is back in the inbox`,
        one.snoozed_until === null
          ? undoBy('markNotificationsDone', [one])
          : () => snoozeUntil(one.snoozed_until ?? now())([one.id]),
      ),
    snooze: (one: Notification, until: Date, name: string) =>
      undoable(
        { notifications: [one], shown: 'gone', send: snoozeUntil(until.toISOString()) },
        `${one.issue.key} comes back ${name}`,
        undoBy('restoreNotifications', [one]),
      ),
    /** Only mentions and assignments arrive from now on: who has stopped watching gets no others. */
    mute: async ({ issue }: Notification, loaded: readonly Notification[]) => {
      const params = { id: issue.id };
      const ofIssue = loaded.filter((one) => one.issue.id === issue.id && one.done_at === null).slice(0, 100);
      let wasWatching = false;
      await undoable(
        {
          notifications: ofIssue,
          shown: 'gone',
          send: async (ids) => {
            wasWatching = (await call('getWatching', { params })).is_watching;
            await call('stopWatching', { params });
            return call('markNotificationsDone', { body: { ids } });
          },
        },
        `${issue.key} is muted: only mentions and assignments arrive`,
        async () => {
          if (wasWatching) await call('startWatching', { params });
          await undoBy('restoreNotifications', ofIssue)();
          await client.invalidateQueries({ queryKey: ['watching', issue.key] });
        },
      );
      await client.invalidateQueries({ queryKey: ['watching', issue.key] });
    },
  };
}

export type Marks = ReturnType<typeof useMarks>;

const now = () => new Date().toISOString();
