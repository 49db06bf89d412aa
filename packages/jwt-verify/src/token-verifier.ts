import { createHash, type KeyObject } from 'node:crypto';
import {
  type AccessTokenClaims,
  accessTokenClaimsSchema,
  type RefreshTokenClaims,
  refreshTokenClaimsSchema,
} from '@tessera/contracts';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { parseCompactJws } from './compact-jws.ts';
import { InvalidTokenError } from './errors.ts';
import type { KeySource } from './key-source.ts';

/** The two kinds of tokens that identity issues (identity-service.md 2.3, 2.4). */
export interface ClaimsByKind {
  access: AccessTokenClaims;
  refresh: RefreshTokenClaims;
}
export type TokenKind = keyof ClaimsByKind;

export interface TokenVerifierOptions<Kind extends TokenKind> {
  kind: Kind;
  /** The exact `iss`. */
  issuer: string;
  /** The exact `aud`: one string, or the whole set. A token for a larger audience is refused. */
  audience: string | readonly string[];
  keys: KeySource;
  /** How far the issuer's clock may differ from ours, in seconds (RFC 7519 4.1.4). Default 5. */
  clockToleranceSeconds?: number;
  /** How many verified signatures are remembered. Default 10,000; 0 remembers none. */
  signatureCacheSize?: number;
  /** Now, in milliseconds. */
  now?: () => number;
}

export interface TokenVerifier<Kind extends TokenKind> {
  /** Answers the claims of a valid token; throws `InvalidTokenError`, or `KeysUnavailableError` when nobody can tell. */
  verify(token: string): Promise<ClaimsByKind[Kind]>;
}

/** A token whose signature was good under a key, with its claims in their proven shape. */
interface VerifiedToken<Claims> {
  kid: string;
  key: KeyObject;
  claims: Claims;
}

const schemas = { access: accessTokenClaimsSchema, refresh: refreshTokenClaimsSchema };

// RFC 8725 3.11. Consumers may meet access tokens without a type or with the general one; only identity itself takes
// refresh tokens, and it always gives them their own.
const acceptedTypes: Record<TokenKind, ReadonlySet<string | undefined>> = {
  access: new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt']),
  refresh: new Set(['rt+jwt']),
};

/** One strict answer to "is this a token of this kind, for us, now?" (identity-service.md 5.5, RFC 8725). */
export function createTokenVerifier<Kind extends TokenKind>(
  options: TokenVerifierOptions<Kind>,
): TokenVerifier<Kind> {
  const { kind, keys, signatureCacheSize = 10_000 } = options;
  const known =
    signatureCacheSize > 0
      ? new LRUCache<string, VerifiedToken<ClaimsByKind[Kind]>>({ max: signatureCacheSize })
      : undefined;

  async function verifySignature(token: string): Promise<VerifiedToken<ClaimsByKind[Kind]>> {
    const { kid, typ } = parseCompactJws(token);
    if (!acceptedTypes[kind].has(typ?.toLowerCase())) throw new InvalidTokenError('another type of token');
    const key = await keys.find(kid);
    if (key === undefined) throw new InvalidTokenError('unknown kid');
    return { kid, key, claims: parseClaims(kind, checkSignature(token, key)) };
  }

  return {
    async verify(token) {
      // The hash stands for the token, so that no usable credential lies in memory.
      const fingerprint = known === undefined ? '' : createHash('sha256').update(token).digest('base64');
      const remembered = known?.get(fingerprint);
      if (remembered !== undefined && (await keys.find(remembered.kid)) === remembered.key) {
        assertUsableNow(remembered.claims, options);
        return remembered.claims;
      }
      const verified = await verifySignature(token);
      assertUsableNow(verified.claims, options);
      known?.set(fingerprint, verified);
      return verified.claims;
    },
  };
}

function checkSignature(token: string, key: KeyObject): unknown {
  try {
    // Times are checked below, on every use: jsonwebtoken lets a token without exp pass, and one from the future.
    return jwt.verify(token, key, { algorithms: ['RS256'], ignoreExpiration: true, ignoreNotBefore: true });
  } catch {
    throw new InvalidTokenError('signature not valid');
  }
}

function parseClaims<Kind extends TokenKind>(kind: Kind, payload: unknown): ClaimsByKind[Kind] {
  const result = schemas[kind].safeParse(payload);
  if (!result.success) {
    const names = result.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new InvalidTokenError(`claims not acceptable: ${names}`);
  }
  return result.data as ClaimsByKind[Kind];
}

function assertUsableNow(
  claims: AccessTokenClaims | RefreshTokenClaims,
  {
    issuer,
    audience,
    clockToleranceSeconds = 5,
    now = Date.now,
  }: Omit<TokenVerifierOptions<TokenKind>, 'kind'>,
): void {
  const seconds = Math.floor(now() / 1000);
  if (claims.exp + clockToleranceSeconds <= seconds) throw new InvalidTokenError('expired');
  if (claims.iat - clockToleranceSeconds > seconds) throw new InvalidTokenError('issued in the future');
  if (claims.iss !== issuer) throw new InvalidTokenError('another issuer');
  if (!isSameAudience(claims.aud, audience)) throw new InvalidTokenError('another audience');
}

function isSameAudience(actual: string | string[], expected: string | readonly string[]): boolean {
  if (typeof actual === 'string' || typeof expected === 'string') return actual === expected;
  return actual.length === expected.length && expected.every((value) => actual.includes(value));
}
