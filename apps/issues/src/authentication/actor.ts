/** The caller: the identity of the request's access token, with the rights that it has now. */
export interface Actor {
  id: string;
  username: string;
  email: string;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
}
