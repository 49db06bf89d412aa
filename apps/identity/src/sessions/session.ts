/** A live session: a token family whose newest refresh token can still be used. */
export interface Session {
  id: string;
  createdAt: Date;
  lastUsedAt: Date;
  /** Its absolute end. */
  expiresAt: Date;
  /** The end of its refresh token, which each rotation moves on. */
  idleExpiresAt: Date;
  createdIp: string | null;
  userAgent: string | null;
}

/** Where a page of sessions ended: newest first, and ids where two began together. */
export interface SessionPlace {
  createdAt: Date;
  id: string;
}
