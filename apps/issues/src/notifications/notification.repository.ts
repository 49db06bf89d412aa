import type { Database } from '../database.ts';
import { eventsAfterFailure, eventsMax, notifyOfDeferred, notifyOfEvents } from './fan-out.sql.ts';
import { markNotifications, selectNotifications } from './notification.sql.ts';
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

  /**
   * Makes the notifications of the next unread events, and of the deferred changes of one actor. Returns true if there may be
   * more of either.
   */
  async notify(): Promise<boolean> {
    const asked = this.#eventsMax;
    // Many events of issues with many watchers may take longer than the timeout. After a failure, statements are small
    // until all events are read.
    this.#eventsMax = eventsAfterFailure;
    const [page] = await this.#database.$queryRaw<{ count: number; hasDeferred: boolean }[]>(
      notifyOfEvents(asked),
    );
    const hasMore = page !== undefined && page.count >= asked;
    if (asked === eventsMax || !hasMore) this.#eventsMax = eventsMax;
    if (page?.hasDeferred !== true) return hasMore;
    const [turn] = await this.#database.$queryRaw<{ hasDeferred: boolean }[]>(notifyOfDeferred);
    return hasMore || turn?.hasDeferred === true;
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
    const [row] = await this.#database.$queryRaw<{ count: number }[]>(
      markNotifications(identityId, marked, isRead),
    );
    return row?.count ?? 0;
  }
}
