/** Members of an identity that can be written. Only given members change. */
export interface IdentityInput {
  email?: string;
  username?: string;
  /** Null: without a name. */
  display_name?: string | null;
  password?: string;
  /** Together with `sso_id`: both strings, or both null. */
  sso_provider?: string | null;
  sso_id?: string | null;
  is_active?: boolean;
  is_verified?: boolean;
  is_staff?: boolean;
  is_superuser?: boolean;
}
