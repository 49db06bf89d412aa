import type { IdTokenClaims } from '@tessera/contracts';
import { expired, InvalidTokenError, issuedInFuture } from './errors.ts';

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
