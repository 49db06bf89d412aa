import type { SweepBatch } from '@tessera/service-kit';
import type { JanitorRepository } from './janitor.repository.ts';

/** What the janitor deletes; families after their tokens. Audit events are kept for ever where the retention is 0. */
export function identitySweeps(repository: JanitorRepository, auditRetentionDays: number) {
  return {
    refresh_tokens: (size) => repository.deleteExpiredTokens(size),
    token_families: (size) => repository.deleteEmptyFamilies(size),
    sign_in_counters: (size) => repository.deleteOldCounters(size),
    audit_events: async (size) =>
      auditRetentionDays === 0 ? 0 : repository.deleteExpiredAuditEvents(auditRetentionDays, size),
  } satisfies Record<string, SweepBatch>;
}
