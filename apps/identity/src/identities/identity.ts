/** An identity without its password hash. */
export interface Identity {
  id: string;
  email: string;
  username: string;
  displayName: string | null;
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

/** The fields that a trusted backend may set. `undefined` leaves a field unchanged; `sso: null` unlinks. */
export interface IdentityChanges {
  email?: string | undefined;
  username?: string | undefined;
  displayName?: string | null | undefined;
  password?: string | undefined;
  /** Whether the password is only for choosing another. */
  isPasswordTemporary?: boolean | undefined;
  sso?: { provider: string; id: string } | null | undefined;
  isActive?: boolean | undefined;
  isVerified?: boolean | undefined;
  isStaff?: boolean | undefined;
  isSuperuser?: boolean | undefined;
}

export type NewIdentity = IdentityChanges & { email: string };
