/** The caller: the identity of the access token, with its current privileges. */
export interface Actor {
  id: string;
  username: string;
  email: string;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  /** When the access token expires. */
  tokenExpiresAt: Date;
}
