/** An active session: a token family whose newest refresh token is valid. */
export interface Session {
  id: string;
  createdAt: Date;
  lastUsedAt: Date;
  /** The absolute end of the session. */
  expiresAt: Date;
  /** The end of its refresh token. Each rotation extends it. */
  idleExpiresAt: Date;
  createdIp: string | null;
  userAgent: string | null;
}

/** The sort key of the list, for keyset paging. The id separates sessions of the same millisecond. */
export interface SessionPosition {
  createdAt: Date;
  id: string;
}
