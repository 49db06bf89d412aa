import type { CleanupTask } from '@tessera/service-kit';
import type { CleanupRepository } from './cleanup.repository.ts';

/** The tables to clean up, in order: tokens before their families. A retention of 0 keeps audit events forever. */
export function cleanupTasks(
  repository: CleanupRepository,
  {
    auditRetentionDays,
    eventRetentionDays,
    hostedSignIn = false,
  }: { auditRetentionDays: number; eventRetentionDays: number; hostedSignIn?: boolean },
) {
  return {
    refresh_tokens: (size) => repository.deleteExpiredTokens(size),
    token_families: (size) => repository.deleteEmptyFamilies(size),
    sign_in_counters: (size) => repository.deleteOldCounters(size),
    audit_events: async (size) =>
      auditRetentionDays === 0 ? 0 : repository.deleteExpiredAuditEvents(auditRetentionDays, size),
    events: (size) => repository.deleteExpiredEvents(eventRetentionDays, size),
    // Without it, the job has none of them.
    ...(hostedSignIn ? signInTasks(repository) : ({} as ReturnType<typeof signInTasks>)),
  } satisfies Record<string, CleanupTask>;
}

/** The tables of the sign-in for applications. */
function signInTasks(repository: CleanupRepository) {
  return {
    authorization_codes: (size) => repository.deleteOldCodes(size),
    sso_sessions: (size) => repository.deleteOldSsoSessions(size),
    client_assertions: (size) => repository.deleteOldAssertions(size),
  } satisfies Record<string, CleanupTask>;
}
