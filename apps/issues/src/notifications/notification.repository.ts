import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import {
  eventsAfterFailure,
  eventsMax,
  expiryOf,
  notifyOfEvents,
  selectNotifications,
} from './notification.sql.ts';
import type {
  MarkedNotifications,
  Notification,
  NotificationFilters,
  NotificationPage,
} from './notification.ts';

type NotificationRow = { unreadCount: number } & (Notification | { id: null });

/** The notifications of people. One reader of the events writes them. */
export class NotificationRepository {
  readonly #database: Database;
  #eventsMax = eventsMax;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes the notifications of the next unread events. Returns true if there may be more events. */
  async notify(): Promise<boolean> {
    const asked = this.#eventsMax;
    // Many events of issues with many watchers may take longer than the timeout. After a failure, statements are small
    // until all events are read.
    this.#eventsMax = eventsAfterFailure;
    const [page] = await this.#database.$queryRaw<{ count: number }[]>(notifyOfEvents(asked));
    const hasMore = page?.count === asked;
    if (asked === eventsMax || !hasMore) this.#eventsMax = eventsMax;
    return hasMore;
  }

  /** Returns a page of the notifications of a person, the newest first, and the number of all unread ones. */
  async list(
    identityId: string,
    filters: NotificationFilters,
    page: NotificationPage,
  ): Promise<{ notifications: Notification[]; unreadCount: number }> {
    const rows = await this.#database.$queryRaw<NotificationRow[]>(
      selectNotifications(identityId, filters, page),
    );
    return {
      notifications: rows.filter((row): row is NotificationRow & Notification => row.id !== null),
      unreadCount: rows[0]?.unreadCount ?? 0,
    };
  }

  /** Marks notifications of a person as read or unread. Returns the number of unread ones after it. */
  async mark(identityId: string, marked: MarkedNotifications, isRead: boolean): Promise<number> {
    const isMarked =
      'ids' in marked
        ? Prisma.sql`id = ANY(${[...marked.ids]}::bigint[])`
        : Prisma.sql`id <= ${marked.upTo}::bigint`;
    const [row] = await this.#database.$queryRaw<{ count: number }[]>`
      WITH changed AS (
        UPDATE notifications
           SET read_at = CASE WHEN ${isRead}::boolean THEN clock_timestamp() END, expires_at = ${expiryOf(isRead)}
         WHERE identity_id = ${identityId}::uuid AND (read_at IS NULL) = ${isRead}::boolean AND ${isMarked}
        RETURNING 1
      )
      SELECT count(*)::int + ${isRead ? -1 : 1}::int * (SELECT count(*)::int FROM changed) AS count
        FROM notifications WHERE identity_id = ${identityId}::uuid AND read_at IS NULL`;
    return Math.max(0, row?.count ?? 0);
  }
}
