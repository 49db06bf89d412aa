import type { CleanupTask } from '@tessera/service-kit';
import type { CleanupRepository } from './cleanup.repository.ts';

interface CleanupOptions {
  /** Files without an issue, and the bytes of deleted ones. */
  attachments?:
    | { repository: { deleteExpired: CleanupTask }; worker: { deleteDue: CleanupTask } }
    | undefined;
  eventRetentionDays: number;
  /** The sessions of the web app, if it is on. */
  webSessions?: { revokePending: CleanupTask } | undefined;
}

/** The tables to clean up. `rate_limits` is not among them: rate-limiter-flexible deletes its expired rows. */
export function cleanupTasks(
  repository: CleanupRepository,
  { eventRetentionDays, webSessions, attachments }: CleanupOptions,
) {
  return {
    idempotency_keys: (size) => repository.deleteExpiredResponses(size),
    tracker_deliveries: (size) => repository.deleteOldDeliveries(size),
    notifications: (size) => repository.deleteExpiredNotifications(size),
    webhook_deliveries: (size) => repository.deleteOldWebhookDeliveries(eventRetentionDays, size),
    events: (size) => repository.deleteExpiredEvents(eventRetentionDays, size),
    web_sessions: (size) => repository.deleteExpiredSessions(size),
    attachments: async (size) => attachments?.repository.deleteExpired(size) ?? 0,
    blob_deletions: async (size) => attachments?.worker.deleteDue(size) ?? 0,
    revoked_web_sessions: async (size) => webSessions?.revokePending(size) ?? 0,
  } satisfies Record<string, CleanupTask>;
}
