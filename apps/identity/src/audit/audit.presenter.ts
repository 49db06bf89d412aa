import type { AuditQuery, AuditEvent as WireAuditEvent } from '@tessera/contracts';
import { z } from 'zod';
import { decodeCursor } from '../paging/keyset-page.ts';
import type { AuditFilter, AuditPosition, AuditRecord } from './audit.repository.ts';

// Time in milliseconds, at most the year 9999 (a later time would not be a valid timestamp literal), and id.
const positionSchema = z.tuple([z.int().min(0).max(253_402_300_799_999), z.int().positive()]);

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

export function readAuditPosition(cursor: string | undefined): AuditPosition | undefined {
  const position = decodeCursor(positionSchema, cursor);
  return position === undefined ? undefined : { at: new Date(position[0]), id: position[1] };
}

/** The content of the cursor of the next page. */
export function presentAuditPosition(
  end: AuditPosition | undefined,
): z.input<typeof positionSchema> | undefined {
  return end === undefined ? undefined : [end.at.getTime(), end.id];
}
