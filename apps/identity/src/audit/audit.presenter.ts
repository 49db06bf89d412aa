import type { AuditQuery, AuditEvent as WireAuditEvent } from '@tessera/contracts';
import { z } from 'zod';
import { decodeCursor } from '../paging/keyset-page.ts';
import type { AuditFilter, AuditPlace, AuditRecord } from './audit.repository.ts';

// Milliseconds up to the year 9999: what the database can compare with.
const placeSchema = z.tuple([z.int().min(0).max(253_402_300_799_999), z.int().positive()]);

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

export function readAuditPlace(cursor: string | undefined): AuditPlace | undefined {
  const place = decodeCursor(placeSchema, cursor);
  return place === undefined ? undefined : { at: new Date(place[0]), id: place[1] };
}

/** What the cursor of the next page holds. */
export function presentAuditPlace(end: AuditPlace | undefined): z.input<typeof placeSchema> | undefined {
  return end === undefined ? undefined : [end.at.getTime(), end.id];
}
