import type { AuditType } from '@tessera/contracts';
import type { RequestOrigin } from '@tessera/service-kit';

/** An event, written in the transaction of the change that it tells of. `details` holds names and reasons; never a secret, never an e-mail in the clear. */
export interface AuditEvent {
  type: AuditType;
  outcome: 'success' | 'failure';
  actor: 'user' | 'service' | 'system';
  identityId: string | null;
  origin: RequestOrigin;
  details?: Record<string, string | string[]>;
}

/** The event as a row of `audit_events`. */
export function toAuditRow(event: AuditEvent) {
  return {
    type: event.type,
    outcome: event.outcome,
    actor: event.actor,
    identityId: event.identityId,
    ip: event.origin.ip,
    userAgent: event.origin.userAgent,
    requestId: event.origin.requestId,
    details: event.details ?? {},
  };
}
