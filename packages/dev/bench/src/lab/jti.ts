import { decodeJwt } from 'jose';

/** What the database knows a refresh token by. Throws for a token without. */
export function jtiOf(token: string): string {
  const { jti } = decodeJwt(token);
  if (jti === undefined) throw new Error('a token without a jti');
  return jti;
}
