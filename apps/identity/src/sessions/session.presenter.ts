import type { SessionDetails } from '@tessera/contracts';
import type { Session } from './session.ts';

export function presentSession(session: Session): SessionDetails {
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
