import { ProblemError } from '@tessera/service-kit';
import type { NotificationRepository } from './notification.repository.ts';
import type {
  MarkedNotifications,
  Notification,
  NotificationFilters,
  NotificationPage,
} from './notification.ts';

interface NotificationServiceOptions {
  repository: NotificationRepository;
  /** Whether the service writes events, of which notifications are made. */
  isEnabled: boolean;
}

/** Reads and marks the notifications of a person. Every method throws a 404 problem if events are disabled. */
export class NotificationService {
  readonly #repository: NotificationRepository;
  readonly #isEnabled: boolean;

  constructor({ repository, isEnabled }: NotificationServiceOptions) {
    this.#repository = repository;
    this.#isEnabled = isEnabled;
  }

  async list(
    identityId: string,
    filters: NotificationFilters,
    page: NotificationPage,
  ): Promise<{ notifications: Notification[]; unreadCount: number }> {
    this.#assertEnabled();
    return this.#repository.list(identityId, filters, page);
  }

  async mark(identityId: string, marked: MarkedNotifications, isRead: boolean): Promise<number> {
    this.#assertEnabled();
    return this.#repository.mark(identityId, marked, isRead);
  }

  #assertEnabled(): void {
    if (this.#isEnabled) return;
    throw new ProblemError({ status: 404, code: 'events_off', detail: 'Events are disabled.' });
  }
}
