import { hash, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { type Audience, assertClaimRules, type ClaimRules } from './claim-rules.ts';
import { parseCompactJws } from './compact-jws.ts';
import { InvalidTokenError } from './errors.ts';
import type { KeySource } from './key-source.ts';
import { assertType, type ClaimsByKind, parseClaims, type TokenKind } from './token-claims.ts';

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
  /** Now, in milliseconds since 1970. */
  now?: () => number;
}

export interface TokenVerifier<Kind extends TokenKind> {
  /**
   * Answers the claims of a valid token, frozen; throws `InvalidTokenError`, or `KeysUnavailableError` when nobody
   * can tell.
   */
  verify(token: string): Promise<ClaimsByKind[Kind]>;
}

/** A token whose signature was good under a key. */
interface ProvenToken<Claims> {
  kid: string;
  key: KeyObject;
  claims: Claims;
}

/** Longest token that is looked at, in characters. */
const maxTokenLength = 8192;

/** One strict answer to "is this a token of this kind, for us, now?" (identity-service.md 5.5, RFC 8725). */
export function createTokenVerifier<Kind extends TokenKind>({
  kind,
  issuer,
  audience,
  keys,
  clockToleranceSeconds = 5,
  signatureCacheSize = 10_000,
  now = Date.now,
}: TokenVerifierOptions<Kind>): TokenVerifier<Kind> {
  const rules = { issuer, audience: normalizeAudience(audience), clockToleranceSeconds };
  const nowSeconds = () => Math.floor(now() / 1000);
  const proven = createMemory<ProvenToken<ClaimsByKind[Kind]>>(signatureCacheSize);

  async function prove(token: string): Promise<ProvenToken<ClaimsByKind[Kind]>> {
    const { kid, typ, payload } = parseCompactJws(token);
    assertType(kind, typ);
    const key = await keys.find(kid);
    if (key === undefined) throw new InvalidTokenError('unknown kid');
    assertSignature(token, key, rules, nowSeconds());
    return { kid, key, claims: parseClaims(kind, payload) };
  }

  return {
    async verify(token) {
      if (token.length > maxTokenLength) throw new InvalidTokenError('token too long');
      const fingerprint = proven === undefined ? '' : hash('sha256', token, 'base64');
      const known = proven?.get(fingerprint);
      // Only the very key that proved the signature vouches for it: a withdrawn or replaced one does not.
      const isProven = known !== undefined && (await keys.find(known.kid)) === known.key;
      const valid = isProven ? known : await prove(token);
      assertClaimRules(valid.claims, rules, nowSeconds());
      if (!isProven) proven?.set(fingerprint, valid);
      return valid.claims;
    },
  };
}

// By the hash of the token, so that no usable credential lies in memory.
function createMemory<Value extends object>(size: number): LRUCache<string, Value> | undefined {
  return size > 0 ? new LRUCache<string, Value>({ max: size }) : undefined;
}

function normalizeAudience(audience: string | readonly string[]): Audience {
  const [first, ...others] = typeof audience === 'string' ? [audience] : audience;
  if (first === undefined) throw new TypeError('audience must not be empty');
  return others.length === 0 ? first : [first, ...others];
}

function assertSignature(token: string, key: KeyObject, rules: ClaimRules, nowSeconds: number): void {
  const { issuer, audience, clockToleranceSeconds } = rules;
  try {
    jwt.verify(token, key, {
      algorithms: ['RS256'],
      issuer,
      audience: typeof audience === 'string' ? audience : [...audience],
      clockTolerance: clockToleranceSeconds,
      clockTimestamp: nowSeconds,
    });
  } catch (error) {
    // Anything else is a fault of ours, not of the token.
    if (error instanceof jwt.JsonWebTokenError) throw new InvalidTokenError(error.message);
    throw error;
  }
}
