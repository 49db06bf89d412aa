import { hash, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { parseCompactJws } from './compact-jws.ts';
import { InvalidTokenError } from './errors.ts';
import type { KeySource } from './key-source.ts';
import {
  type Audience,
  assertClaimRules,
  assertType,
  type ClaimRules,
  type ClaimsByKind,
  parseClaims,
  type TokenKind,
} from './token-claims.ts';

export interface TokenVerifierOptions<Kind extends TokenKind> {
  kind: Kind;
  /** The exact `iss`. */
  issuer: string;
  /** The exact `aud`: one string, or the whole set. A token for a larger audience is refused. */
  audience: string | readonly string[];
  keys: KeySource;
  /** Permitted difference to the issuer's clock, in seconds (RFC 7519 4.1.4). Default 5. */
  clockToleranceSeconds?: number;
  /** Maximum number of cached signatures. Default 10,000; 0 disables the cache. */
  signatureCacheSize?: number;
  /** The time, in milliseconds since 1970. */
  now?: () => number;
}

export interface TokenVerifier<Kind extends TokenKind> {
  /**
   * Returns the claims of a valid token, frozen; throws `InvalidTokenError`, or `KeysUnavailableError` without keys.
   */
  verify(token: string): Promise<ClaimsByKind[Kind]>;
}

/** A token whose signature was verified with a key. */
interface VerifiedToken<Claims> {
  kid: string;
  key: KeyObject;
  claims: Claims;
}

/** Maximum length of a token, in characters. */
const maxTokenLength = 8192;

/** Creates a verifier of tokens of one kind, issuer and audience (docs/spec/identity-service.md 5.5, RFC 8725). */
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
  const cache = createCache<VerifiedToken<ClaimsByKind[Kind]>>(signatureCacheSize);

  async function verifySignature(token: string): Promise<VerifiedToken<ClaimsByKind[Kind]>> {
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
      const fingerprint = cache === undefined ? '' : hash('sha256', token, 'base64');
      const known = cache?.get(fingerprint);
      // A cached signature is valid only while its key is still used, not after a withdrawal or replacement.
      const isCached = known !== undefined && (await keys.find(known.kid)) === known.key;
      const valid = isCached ? known : await verifySignature(token);
      assertClaimRules(valid.claims, rules, nowSeconds());
      if (!isCached) cache?.set(fingerprint, valid);
      return valid.claims;
    },
  };
}

// Keys are hashes of tokens, so that the cache contains no usable credentials.
function createCache<Value extends object>(size: number): LRUCache<string, Value> | undefined {
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
      // `assertClaimRules` checks the expiry after all other rules.
      ignoreExpiration: true,
    });
  } catch (error) {
    // Other errors are not caused by the token.
    if (error instanceof jwt.JsonWebTokenError) throw new InvalidTokenError(error.message);
    throw error;
  }
}
