import type { RequestOrigin } from '@tessera/service-kit';

/** What the audit trail knows of. Written in the transaction of the change it tells of. */
export type AuditType =
  | 'token.issued'
  | 'token.refused'
  | 'refresh.rotated'
  | 'refresh.refused'
  | 'refresh.reuse_in_leeway'
  | 'refresh.reuse_detected'
  | 'family.revoked'
  | 'sessions.revoked'
  | 'hash.upgraded'
  | 'identity.created'
  | 'identity.updated'
  | 'identity.password_changed'
  | 'identity.activated'
  | 'identity.deactivated'
  | 'identity.deleted';

/** A row of the audit trail. `details` holds names and reasons; never a secret, never an e-mail in the clear. */
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
