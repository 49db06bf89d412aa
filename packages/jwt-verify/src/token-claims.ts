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
import { expired, InvalidTokenError, issuedInFuture } from './errors.ts';

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

/** The exact `aud`: one string, or the whole set. A token for a larger audience is refused. */
export type Audience = string | readonly [string, ...string[]];

/** Rules for the claims of a token that depend on configuration. */
export interface ClaimRules {
  /** The exact `iss`. */
  issuer: string;
  audience: Audience;
  /** Permitted difference to the issuer's clock, in seconds (RFC 7519 4.1.4). */
  clockToleranceSeconds: number;
}

// The last second of the year 9999. A later time is an error, such as milliseconds instead of seconds.
const latestNumericDate = 253_402_300_799;

/** Checks the claims that depend on clock and configuration, at each use. Throws `InvalidTokenError`. */
export function assertClaimRules(
  { exp, iat, iss, aud }: Pick<IdTokenClaims, 'exp' | 'iat' | 'iss' | 'aud'>,
  { issuer, audience, clockToleranceSeconds }: ClaimRules,
  nowSeconds: number,
): void {
  if (exp > latestNumericDate) throw new InvalidTokenError('exp out of range');
  if (iat > nowSeconds + clockToleranceSeconds) throw new InvalidTokenError(issuedInFuture);
  if (iss !== issuer) throw new InvalidTokenError('wrong issuer');
  if (!isSameAudience(aud, audience)) throw new InvalidTokenError('wrong audience');
  // Checked last, because the response reveals that an otherwise valid token has expired.
  if (nowSeconds >= exp + clockToleranceSeconds) throw new InvalidTokenError(expired);
}

function isSameAudience(actual: string | readonly string[], expected: Audience): boolean {
  if (typeof actual === 'string' || typeof expected === 'string') return actual === expected;
  return actual.length === expected.length && expected.every((value) => actual.includes(value));
}
