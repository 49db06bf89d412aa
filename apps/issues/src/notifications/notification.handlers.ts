import type {
  listNotifications,
  markNotificationsRead,
  markNotificationsUnread,
  Notification as NotificationItem,
} from '@tessera/contracts';
import { type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { parseIssueReference } from '../issue-core/issue-reference.ts';
import { presentPerson } from '../issue-core/person.ts';
import { shortHash, unlessKnown } from '../issue-core/precondition.ts';
import type { NotificationService } from './notification.service.ts';
import type { Notification } from './notification.ts';

interface NotificationHandlersOptions {
  notifications: NotificationService;
  urls: IssueUrls;
}

const place = z.object({ place: z.string().regex(/^\d{1,18}$/) });

/** Handlers of notifications. Every active user reads and marks their own. */
export function notificationHandlers({ notifications, urls }: NotificationHandlersOptions) {
  const list: Handler<typeof listNotifications, Actor> = async ({ actor, query, headers }) => {
    const { unread: isUnread, reason: reasons, issue } = query;
    const url = new URL(urls.notifications);
    if (isUnread !== undefined) url.searchParams.set('unread', String(isUnread));
    if (reasons !== undefined) url.searchParams.set('reason', reasons.join());
    if (issue !== undefined) url.searchParams.set('issue', issue);
    const page = readKeysetPage(query, { url: url.href, place, sizeDefault: 50 });
    const reference = issue === undefined ? undefined : parseIssueReference(issue, urls.keyPrefix, 'issue');
    const found = await notifications.list(actor.id, { isUnread, reasons, issue: reference }, page);
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
    return { status: 200, body: { unread_count: await notifications.mark(actor.id, marked, true) } };
  };

  const markUnread: Handler<typeof markNotificationsUnread, Actor> = async ({ actor, body: { ids } }) => ({
    status: 200,
    body: { unread_count: await notifications.mark(actor.id, { ids }, false) },
  });

  return { list, markRead, markUnread };
}

function present(notification: Notification, urls: IssueUrls): NotificationItem {
  const { id, reason, type, issueId, number, title, actorId, actorName, commentId } = notification;
  return {
    id: Number(id),
    reason,
    type,
    issue: { id: issueId, key: urls.keyOf(number), title },
    actor: presentPerson(actorId, actorName),
    comment_id: commentId,
    more_count: notification.moreCount,
    created_at: notification.createdAt.toISOString(),
    read_at: notification.readAt?.toISOString() ?? null,
  };
}
