/** An identity as the service knows it; the wire form is the presenter's. */
export interface Identity {
  id: string;
  email: string;
  username: string;
  ssoProvider: string | null;
  ssoId: string | null;
  isActive: boolean;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  deletedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** What a trusted backend may set. `undefined` means: not supplied. */
export interface IdentityChanges {
  email?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  sso?: { provider: string; id: string } | null | undefined;
  isActive?: boolean | undefined;
  isVerified?: boolean | undefined;
  isStaff?: boolean | undefined;
  isSuperuser?: boolean | undefined;
}

export type NewIdentity = IdentityChanges & { email: string };

/** What e-mails are compared by. They are ASCII, so lower case is unambiguous: no Unicode folding to take over by. */
export function canonicalEmail(email: string): string {
  return email.trim().toLowerCase();
}
