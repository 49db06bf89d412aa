import type { AuditQuery, AuditEvent as WireAuditEvent } from '@tessera/contracts';
import type { AuditFilter, AuditRecord } from './audit.repository.ts';

export function presentAuditEvent(record: AuditRecord): WireAuditEvent {
  return {
    id: record.id,
    at: record.at.toISOString(),
    type: record.type,
    outcome: record.outcome,
    actor: record.actor,
    identity_id: record.identityId,
    ip: record.ip,
    user_agent: record.userAgent,
    request_id: record.requestId,
    details: record.details,
  };
}

export function readAuditFilter({
  identity_id: identityId,
  type,
  outcome,
  actor,
  after,
  before,
}: AuditQuery): AuditFilter {
  return { identityId, type, outcome, actor, after, before };
}
