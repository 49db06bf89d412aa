/** The writable members of an identity. Omitted members stay unchanged. */
export interface IdentityInput extends AccountInput {
  /** Null removes the name. */
  display_name?: string | null;
}

/** The writable members of a user of the issues service. */
export interface UserInput extends AccountInput {
  /** The display name; null removes it. */
  name?: string | null;
}

interface AccountInput {
  email?: string;
  username?: string;
  password?: string;
  /** True: the first sign-in must choose another password, within 24 hours. */
  password_is_temporary?: boolean;
  /** Set together with `sso_id`: both strings, or both null. */
  sso_provider?: string | null;
  sso_id?: string | null;
  is_active?: boolean;
  is_verified?: boolean;
  is_staff?: boolean;
  is_superuser?: boolean;
}
