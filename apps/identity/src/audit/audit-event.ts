import type { AuditType } from '@tessera/contracts';
import type { RequestOrigin } from '@tessera/service-kit';

/**
 * An audit event, written in the same transaction as the change that it records. `details` must not contain secrets or
 * plain e-mail addresses.
 */
export interface AuditEvent {
  type: AuditType;
  outcome: 'success' | 'failure';
  actor: 'user' | 'service' | 'system';
  identityId: string | null;
  origin: RequestOrigin;
  details?: Record<string, string | string[]>;
}

export function toAuditRow(event: AuditEvent) {
  return {
    type: event.type,
    outcome: event.outcome,
    actor: event.actor,
    identityId: event.identityId,
    ip: event.origin.ip,
    userAgent: event.origin.userAgent,
    requestId: event.origin.requestId,
    details: { ...event.details, ...backendOf(event.origin) },
  };
}

/** The member of `details` that names the backend, if its service token has a name. */
export function backendOf({ backend }: RequestOrigin): { backend?: string } {
  return backend === undefined ? {} : { backend };
}
