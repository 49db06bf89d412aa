import type { Database } from '../database.ts';
import { AccessReader } from '../issue-store/access-reader.ts';
import { recordReminders } from '../issue-store/reminder.sql.ts';
import {
  endSnoozes,
  eventsAfterFailure,
  eventsMax,
  notifyOfDeferred,
  notifyOfEvents,
} from './fan-out.sql.ts';
import { markNotifications, selectChangedNotifications, selectNotifications } from './notification.sql.ts';
import type {
  ChangedNotifications,
  KnownNotifications,
  MarkedNotifications,
  Notification,
  NotificationFilters,
  NotificationMark,
  NotificationPage,
  NotificationReader,
} from './notification.ts';

interface Written {
  hasWritten: boolean;
  hasDeferred: boolean;
}

type NotificationRow = { unreadCount: number } & (Notification | { id: null });

/** The notifications of people. One reader of the events writes them. */
export class NotificationRepository {
  readonly #database: Database;
  readonly #access: Pick<AccessReader, 'hasRestricted'>;
  readonly #now: () => Date;
  #eventsMax = eventsMax;

  /** `now`: the clock of the reminders. */
  constructor(
    database: Database,
    access: Pick<AccessReader, 'hasRestricted'> = new AccessReader(database),
    now = () => new Date(),
  ) {
    this.#database = database;
    this.#access = access;
    this.#now = now;
  }

  /**
   * Makes the notifications of the next unread events, and of the deferred changes of one actor, ends the snoozes whose
   * time has come, and records the reminders of the day. Returns true if there may be more. `onWritten` is called if people have other notifications than before.
   */
  async notify(onWritten: () => void = () => undefined): Promise<boolean> {
    const asked = this.#eventsMax;
    const today = this.#now().toISOString().slice(0, 10);
    // Many events of issues with many watchers may take longer than the timeout. After a failure, statements are small
    // until all events are read.
    this.#eventsMax = eventsAfterFailure;
    const [page] = await this.#database.$queryRaw<
      (Written & { count: number; hasDue: boolean; hasReminders: boolean })[]
    >(notifyOfEvents(asked, today));
    const hasMore = page !== undefined && page.count >= asked;
    if (asked === eventsMax || !hasMore) this.#eventsMax = eventsMax;
    const deferred = page?.hasDeferred === true ? notifyOfDeferred : undefined;
    const [turn] = deferred === undefined ? [] : await this.#database.$queryRaw<Written[]>(deferred);
    const [ended] = page?.hasDue === true ? await this.#database.$queryRaw<Written[]>(endSnoozes) : [];
    const [reminders] =
      page?.hasReminders === true
        ? await this.#database.$queryRaw<{ count: number }[]>(recordReminders(today))
        : [];
    // The next run reads their events.
    const hasReminded = reminders !== undefined && reminders.count > 0;
    if (page?.hasWritten === true || turn?.hasWritten === true || ended?.hasWritten === true) onWritten();
    return hasMore || hasReminded || turn?.hasDeferred === true;
  }

  /** Returns a page of the notifications of a person, the newest first, and the number of all unread ones. */
  async list(
    reader: NotificationReader,
    filters: NotificationFilters,
    page: NotificationPage,
  ): Promise<{ notifications: Notification[]; unreadCount: number }> {
    const rows = await this.#database.$queryRaw<NotificationRow[]>(
      selectNotifications(reader, filters, page),
    );
    return {
      notifications: rows.filter((row): row is NotificationRow & Notification => row.id !== null),
      unreadCount: rows[0]?.unreadCount ?? 0,
    };
  }

  /** Marks notifications of a person. Returns the number of unread ones after it. */
  async mark(
    reader: NotificationReader,
    marked: MarkedNotifications,
    mark: NotificationMark,
  ): Promise<number> {
    const [row] = await this.#database.$queryRaw<{ count: number }[]>(
      markNotifications(reader, marked, mark),
    );
    return row?.count ?? 0;
  }

  /** Finds those of some people whose notifications are not as known. */
  async changed(people: readonly KnownNotifications[]): Promise<ChangedNotifications[]> {
    const hasRestricted = await this.#access.hasRestricted();
    return this.#database.$queryRaw<ChangedNotifications[]>(
      selectChangedNotifications(people, hasRestricted),
    );
  }
}
