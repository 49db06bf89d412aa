import { uuid, type Session as WireSession } from '@tessera/contracts';
import { z } from 'zod';
import { decodeCursor } from '../paging/keyset-page.ts';
import type { Session, SessionPosition } from './session.ts';

// Time in milliseconds, at most the year 9999 (a later time would not be a valid timestamp literal), and id.
const positionSchema = z.tuple([z.int().min(0).max(253_402_300_799_999), uuid()]);

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

export function readSessionPosition(cursor: string | undefined): SessionPosition | undefined {
  const position = decodeCursor(positionSchema, cursor);
  return position === undefined ? undefined : { createdAt: new Date(position[0]), id: position[1] };
}

/** The content of the cursor of the next page. */
export function presentSessionPosition(
  end: SessionPosition | undefined,
): z.input<typeof positionSchema> | undefined {
  return end === undefined ? undefined : [end.createdAt.getTime(), end.id];
}
