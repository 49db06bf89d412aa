/** Members of an identity that can be written. Only given members change. */
export interface IdentityInput extends AccountInput {
  /** Null: without a name. */
  display_name?: string | null;
}

/** The same of a user of the issues service. */
export interface UserInput extends AccountInput {
  /** The display name; null: without one. */
  name?: string | null;
}

interface AccountInput {
  email?: string;
  username?: string;
  password?: string;
  /** Set together with `sso_id`: both strings, or both null. */
  sso_provider?: string | null;
  sso_id?: string | null;
  is_active?: boolean;
  is_verified?: boolean;
  is_staff?: boolean;
  is_superuser?: boolean;
}
