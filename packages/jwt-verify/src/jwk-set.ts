import { createPublicKey, type KeyObject } from 'node:crypto';
import { jwkSchema } from '@tessera/contracts';
import { z } from 'zod';
import { isUsableKey } from './key-source.ts';

export interface JwkSetKeys {
  keys: ReadonlyMap<string, KeyObject>;
  /** Number of members of the set that were skipped. */
  ignored: number;
}

const jwkSetSchema = z.object({ keys: z.array(z.unknown()).max(100) });

// The contract's key without its strictness: readers ignore unknown members (RFC 7517 4).
const publicKeySchema = z.looseObject({ ...jwkSchema.shape, kid: z.string().min(1).max(200) });

// RFC 7518 6.3.2, 6.4.1. A key with a published private part is not secret.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * Parses a key set (docs/spec/identity-service.md 2.7) and returns the keys that can verify RS256; skips the others, as RFC 7517
 * 5 requires. Throws if no key remains, or if two keys have the same kid.
 */
export function parseJwkSet(text: string): JwkSetKeys {
  const candidates = parseCandidates(text);
  const keys = new Map<string, KeyObject>();
  for (const candidate of candidates) {
    const parsed = publicKeySchema.safeParse(candidate);
    const key = parsed.success ? toKey(parsed.data) : undefined;
    if (!parsed.success || key === undefined) continue;
    if (keys.has(parsed.data.kid)) throw new Error('the key set has two keys with the same kid');
    keys.set(parsed.data.kid, key);
  }
  if (keys.size === 0) throw new Error('the key set has no usable key');
  return { keys, ignored: candidates.length - keys.size };
}

function parseCandidates(text: string): unknown[] {
  try {
    return jwkSetSchema.parse(JSON.parse(text)).keys;
  } catch (cause) {
    throw new Error('the response is not a key set', { cause });
  }
}

function toKey(jwk: { n: string; e: string }): KeyObject | undefined {
  if (privateMembers.some((name) => Object.hasOwn(jwk, name))) return undefined;
  try {
    const key = createPublicKey({ key: { kty: 'RSA', n: jwk.n, e: jwk.e }, format: 'jwk' });
    return isUsableKey(key) ? key : undefined;
  } catch {
    // OpenSSL refuses the modulus.
    return undefined;
  }
}
