import {
  type AccessTokenClaims,
  accessTokenClaimsSchema,
  type IdTokenClaims,
  idTokenClaimsSchema,
  type LogoutTokenClaims,
  logoutTokenClaimsSchema,
  type RefreshTokenClaims,
  refreshTokenClaimsSchema,
} from '@tessera/contracts';
import type { ZodType } from 'zod';
import { InvalidTokenError } from './errors.ts';

/**
 * The kinds of tokens that identity issues: docs/spec/identity-service.md 2.3, 2.4, and those of OpenID Connect for a client.
 */
export interface ClaimsByKind {
  access: Readonly<AccessTokenClaims>;
  refresh: Readonly<RefreshTokenClaims>;
  id: Readonly<IdTokenClaims>;
  logout: Readonly<LogoutTokenClaims>;
}
export type TokenKind = keyof ClaimsByKind;

const schemas: { [Kind in TokenKind]: ZodType<ClaimsByKind[Kind]> } = {
  access: accessTokenClaimsSchema,
  refresh: refreshTokenClaimsSchema,
  id: idTokenClaimsSchema,
  logout: logoutTokenClaimsSchema,
};

// RFC 8725 3.11. Access tokens may have no type or the general one; refresh tokens are only issued and accepted by
// identity, always with this type.
const acceptsType: Record<TokenKind, (typ: string | undefined) => boolean> = {
  // Media types are case-insensitive (RFC 7515 4.1.9).
  access: (typ) => typ === undefined || ['jwt', 'at+jwt', 'application/at+jwt'].includes(typ.toLowerCase()),
  refresh: (typ) => typ === 'rt+jwt',
  id: (typ) => typ === undefined || ['jwt', 'id+jwt'].includes(typ.toLowerCase()),
  // OpenID Connect Back-Channel Logout 2.4.
  logout: (typ) => typ?.toLowerCase() === 'logout+jwt',
};

/** Throws `InvalidTokenError` for the `typ` of another kind of token. */
export function assertType(kind: TokenKind, typ: string | undefined): void {
  if (!acceptsType[kind](typ)) throw new InvalidTokenError('wrong token type');
}

/**
 * Parses the claims of a kind of token and freezes them; throws `InvalidTokenError` with the names of invalid claims.
 */
export function parseClaims<Kind extends TokenKind>(kind: Kind, payload: unknown): ClaimsByKind[Kind] {
  const schema: ZodType<ClaimsByKind[Kind]> = schemas[kind];
  const result = schema.safeParse(payload);
  if (!result.success) {
    const names = result.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new InvalidTokenError(`invalid claims: ${names}`);
  }
  // Requests with the same token share this object.
  for (const value of Object.values(result.data)) Object.freeze(value);
  Object.freeze(result.data);
  return result.data;
}
