import type {
  listNotifications,
  markNotificationsDone,
  markNotificationsRead,
  markNotificationsUnread,
  Notification as NotificationItem,
  restoreNotifications,
  snoozeNotifications,
} from '@tessera/contracts';
import { type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { presentPerson } from '../issue-core/person.ts';
import { shortHash, unlessKnown } from '../issue-core/precondition.ts';
import type { NotificationService } from './notification.service.ts';
import type {
  MarkedNotifications,
  Notification,
  NotificationMark,
  NotificationReader,
} from './notification.ts';

interface NotificationHandlersOptions {
  notifications: NotificationService;
  urls: IssueUrls;
}

const place = z.object({ place: z.string().regex(/^\d{1,18}$/) });

/** Handlers of notifications. Every active user reads and marks their own. */
export function notificationHandlers({ notifications, urls }: NotificationHandlersOptions) {
  const list: Handler<typeof listNotifications, Actor> = async ({ actor, query, headers }) => {
    const { unread: isUnread, state, reason: reasons, issue } = query;
    const url = new URL(urls.notifications);
    if (isUnread !== undefined) url.searchParams.set('unread', String(isUnread));
    if (state !== undefined) url.searchParams.set('state', state);
    if (reasons !== undefined) url.searchParams.set('reason', reasons.join());
    if (issue !== undefined) url.searchParams.set('issue', issue);
    const page = readKeysetPage(query, { url: url.href, place, sizeDefault: 50 });
    const reference = issue === undefined ? undefined : urls.named(issue, 'issue', actor);
    const filters = { isUnread, state, reasons, issue: reference };
    const found = await notifications.list(readerOf(actor), filters, page);
    const response = page.present(found.notifications, {
      item: (notification) => present(notification, urls),
      place: (notification) => ({ place: String(notification.place) }),
    });
    const unreadCount = String(found.unreadCount);
    const etag = `W/"${shortHash(JSON.stringify([response.body, unreadCount, response.headers.Link]))}"`;
    const given = { ...response.headers, 'X-Unread-Count': unreadCount, ETag: etag };
    return unlessKnown(headers, { ...response, headers: given });
  };

  const markRead: Handler<typeof markNotificationsRead, Actor> = async ({ actor, body }) => {
    const { ids, up_to: upTo } = body;
    const marked = upTo === undefined ? { ids: ids ?? [] } : { upTo };
    return mark(actor, marked, { as: 'read' });
  };

  const markUnread: Handler<typeof markNotificationsUnread, Actor> = async ({ actor, body: { ids } }) =>
    mark(actor, { ids }, { as: 'unread' });

  const markDone: Handler<typeof markNotificationsDone, Actor> = async ({ actor, body: { ids } }) =>
    mark(actor, { ids }, { as: 'done' });

  const restore: Handler<typeof restoreNotifications, Actor> = async ({ actor, body: { ids } }) =>
    mark(actor, { ids }, { as: 'restored' });

  const snooze: Handler<typeof snoozeNotifications, Actor> = async ({ actor, body: { ids, until } }) =>
    mark(actor, { ids }, { as: 'snoozed', until: new Date(until) });

  return { list, markRead, markUnread, markDone, restore, snooze };

  async function mark(actor: Actor, marked: MarkedNotifications, change: NotificationMark) {
    const unreadCount = await notifications.mark(readerOf(actor), marked, change);
    return { status: 200, body: { unread_count: unreadCount } } as const;
  }
}

function readerOf({ id: readerId, access }: Actor): NotificationReader {
  return { ...access.scope, readerId };
}

function present(notification: Notification, urls: IssueUrls): NotificationItem {
  const { id, reason, type, issueId, title, actorId, actorName, changes, commentId } = notification;
  return {
    id: Number(id),
    reason,
    type,
    issue: { id: issueId, key: urls.keyOf(notification), title },
    actor: presentPerson(actorId, actorName),
    changed: changes?.members ?? [],
    status: changes?.status ?? null,
    comment_id: commentId,
    more_count: notification.moreCount,
    created_at: notification.createdAt.toISOString(),
    read_at: notification.readAt?.toISOString() ?? null,
    done_at: notification.doneAt?.toISOString() ?? null,
    snoozed_until: notification.snoozedUntil?.toISOString() ?? null,
  };
}
