import type { CleanupTask } from '@tessera/service-kit';
import type { CleanupRepository } from './cleanup.repository.ts';

/** The tables to clean up. `rate_limits` is not among them: rate-limiter-flexible deletes its expired rows. */
export function cleanupTasks(repository: CleanupRepository, eventRetentionDays: number) {
  return {
    idempotency_keys: (size) => repository.deleteExpiredResponses(size),
    tracker_deliveries: (size) => repository.deleteOldDeliveries(size),
    events: (size) => repository.deleteExpiredEvents(eventRetentionDays, size),
  } satisfies Record<string, CleanupTask>;
}
