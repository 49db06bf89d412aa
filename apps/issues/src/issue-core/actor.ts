import type { ServerResponse } from 'node:http';
import type { ProjectAccess } from './project-access.ts';

/** The caller: the identity of the access token, with its current privileges. */
export interface Actor {
  id: string;
  username: string;
  email: string;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  /** What the caller may see and do in projects that are not open to everyone. */
  access: ProjectAccess;
  /** When the access token expires. */
  tokenExpiresAt: Date;
  /** How often all sessions of the identity had ended when the token was issued; undefined if the token does not say. */
  sessionEpoch: number | undefined;
  /** The key of the web session; absent with a token of the caller's own. */
  sessionKey?: Uint8Array;
}

/** The quota of writes of an actor, for a request with parts that count as writes. */
export interface PartsQuota {
  /** Counts a write for each part. Throws a 429 problem if the quota is exceeded. */
  countParts: (
    actor: Actor,
    response: ServerResponse,
    parts: { count: number; name: string },
  ) => Promise<void>;
}
