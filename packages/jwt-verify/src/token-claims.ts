import {
  type AccessTokenClaims,
  accessTokenClaimsSchema,
  type RefreshTokenClaims,
  refreshTokenClaimsSchema,
} from '@tessera/contracts';
import type { ZodType } from 'zod';
import { InvalidTokenError } from './errors.ts';

/** The two kinds of tokens that identity issues (identity-service.md 2.3, 2.4). */
export interface ClaimsByKind {
  access: Readonly<AccessTokenClaims>;
  refresh: Readonly<RefreshTokenClaims>;
}
export type TokenKind = keyof ClaimsByKind;

const schemas: { [Kind in TokenKind]: ZodType<ClaimsByKind[Kind]> } = {
  access: accessTokenClaimsSchema,
  refresh: refreshTokenClaimsSchema,
};

// RFC 8725 3.11. Consumers may meet access tokens without a type or with the general one; only identity itself takes
// refresh tokens, and it always gives them this very one.
const acceptsType: Record<TokenKind, (typ: string | undefined) => boolean> = {
  // Media types have no case (RFC 7515 4.1.9).
  access: (typ) => typ === undefined || ['jwt', 'at+jwt', 'application/at+jwt'].includes(typ.toLowerCase()),
  refresh: (typ) => typ === 'rt+jwt',
};

/** Refuses the `typ` header of another kind of token. */
export function assertType(kind: TokenKind, typ: string | undefined): void {
  if (!acceptsType[kind](typ)) throw new InvalidTokenError('another type of token');
}

/** The claims of a kind of token in their proven shape, frozen; throws `InvalidTokenError` naming what is wrong. */
export function parseClaims<Kind extends TokenKind>(kind: Kind, payload: unknown): ClaimsByKind[Kind] {
  const schema: ZodType<ClaimsByKind[Kind]> = schemas[kind];
  const result = schema.safeParse(payload);
  if (!result.success) {
    const names = result.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new InvalidTokenError(`claims not acceptable: ${names}`);
  }
  // Requests that bring the same token share this object.
  for (const value of Object.values(result.data)) Object.freeze(value);
  Object.freeze(result.data);
  return result.data;
}
