import type { NotificationRepository } from './notification.repository.ts';
import type {
  MarkedNotifications,
  Notification,
  NotificationFilters,
  NotificationMark,
  NotificationPage,
  NotificationReader,
} from './notification.ts';

interface NotificationServiceOptions {
  repository: NotificationRepository;
}

/** Reads and marks the notifications of a person. */
export class NotificationService {
  readonly #repository: NotificationRepository;

  constructor({ repository }: NotificationServiceOptions) {
    this.#repository = repository;
  }

  async list(
    reader: NotificationReader,
    filters: NotificationFilters,
    page: NotificationPage,
  ): Promise<{ notifications: Notification[]; unreadCount: number }> {
    return this.#repository.list(reader, filters, page);
  }

  async mark(
    reader: NotificationReader,
    marked: MarkedNotifications,
    mark: NotificationMark,
  ): Promise<number> {
    return this.#repository.mark(reader, marked, mark);
  }
}
