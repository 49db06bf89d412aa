import type { NotificationRepository } from './notification.repository.ts';
import type {
  MarkedNotifications,
  Notification,
  NotificationFilters,
  NotificationMark,
  NotificationPage,
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
    identityId: string,
    filters: NotificationFilters,
    page: NotificationPage,
  ): Promise<{ notifications: Notification[]; unreadCount: number }> {
    return this.#repository.list(identityId, filters, page);
  }

  async mark(identityId: string, marked: MarkedNotifications, mark: NotificationMark): Promise<number> {
    return this.#repository.mark(identityId, marked, mark);
  }
}
