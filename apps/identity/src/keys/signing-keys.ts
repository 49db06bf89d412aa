import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { type JwkSet, jwkSetSchema } from '@tessera/contracts';
import { ConfigError } from '@tessera/service-kit';
import jose from 'node-jose';
import type { PrivateKey } from './key-files.ts';

/** The keys of this process. Only `active` contains a private key. */
export interface SigningKeys {
  active: PrivateKey;
  /** The keys in the key set. Access tokens are verified with these only. */
  published: ReadonlyMap<string, KeyObject>;
  /** The published and the verify-only keys. Refresh tokens are verified with these. */
  accepted: ReadonlyMap<string, KeyObject>;
  /** docs/spec/identity-service.md 2.7 */
  jwkSet: JwkSet;
  /** RFC 7638 thumbprints by kid, for the log. */
  thumbprints: Record<string, string>;
}

/**
 * Assigns a role to each key. The active key is `activeKid`, or the only key. Keys in `verifyOnlyKids` are not
 * published. All others are, so consumers know the next key before it signs and the previous key afterwards.
 */
export async function loadSigningKeys(
  privateKeys: readonly PrivateKey[],
  { activeKid, verifyOnlyKids }: { activeKid: string | undefined; verifyOnlyKids: readonly string[] },
): Promise<SigningKeys> {
  const active = chooseActive(privateKeys, activeKid, verifyOnlyKids);
  const accepted = new Map(privateKeys.map(({ kid, key }) => [kid, createPublicKey(key)]));
  const unknown = verifyOnlyKids.filter((kid) => !accepted.has(kid));
  if (unknown.length > 0)
    throw new ConfigError([`JWT_VERIFY_ONLY_KIDS: there is no key ${unknown.join(', ')}`]);
  const published = new Map([...accepted].filter(([kid]) => !verifyOnlyKids.includes(kid)));
  const { jwkSet, thumbprints } = await toJwkSet(published);
  return { active, published, accepted, jwkSet, thumbprints };
}

function chooseActive(
  keys: readonly PrivateKey[],
  activeKid: string | undefined,
  verifyOnlyKids: readonly string[],
): PrivateKey {
  const candidates = activeKid === undefined ? keys : keys.filter(({ kid }) => kid === activeKid);
  const [active, ...others] = candidates;
  if (active === undefined) throw new ConfigError([`JWT_ACTIVE_KID: there is no key ${activeKid}`]);
  if (others.length > 0) {
    throw new ConfigError([
      `JWT_ACTIVE_KID: is required if there are several keys (${keys.map((key) => key.kid).join(', ')})`,
    ]);
  }
  if (verifyOnlyKids.includes(active.kid)) {
    throw new ConfigError([`JWT_VERIFY_ONLY_KIDS: ${active.kid} is the active key`]);
  }
  return active;
}

async function toJwkSet(keys: ReadonlyMap<string, KeyObject>) {
  const store = jose.JWK.createKeyStore();
  const thumbprints: Record<string, string> = {};
  for (const [kid, key] of keys) {
    // Add public keys only: node-jose can export the private part of a key in the store.
    const pem = key.export({ type: 'spki', format: 'pem' });
    await store.add(pem, 'pem', { kid, use: 'sig', alg: 'RS256' });
    const { e, n } = key.export({ format: 'jwk' });
    thumbprints[kid] = createHash('sha256')
      .update(JSON.stringify({ e, kty: 'RSA', n }))
      .digest('base64url');
  }
  return { jwkSet: jwkSetSchema.parse(store.toJSON()), thumbprints };
}
