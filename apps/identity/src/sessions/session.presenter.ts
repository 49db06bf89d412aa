import { uuid, type Session as WireSession } from '@tessera/contracts';
import { z } from 'zod';
import { decodeCursor } from '../paging/keyset-page.ts';
import type { Session, SessionPlace } from './session.ts';

// Milliseconds up to the year 9999: what the database can compare with.
const placeSchema = z.tuple([z.int().min(0).max(253_402_300_799_999), uuid()]);

export function presentSession(session: Session): WireSession {
  return {
    id: session.id,
    created_at: session.createdAt.toISOString(),
    last_used_at: session.lastUsedAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    idle_expires_at: session.idleExpiresAt.toISOString(),
    created_ip: session.createdIp,
    user_agent: session.userAgent,
  };
}

export function readSessionPlace(cursor: string | undefined): SessionPlace | undefined {
  const place = decodeCursor(placeSchema, cursor);
  return place === undefined ? undefined : { createdAt: new Date(place[0]), id: place[1] };
}

/** What the cursor of the next page holds. */
export function presentSessionPlace(end: SessionPlace | undefined): z.input<typeof placeSchema> | undefined {
  return end === undefined ? undefined : [end.createdAt.getTime(), end.id];
}
