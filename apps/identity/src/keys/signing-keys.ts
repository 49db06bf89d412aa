import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { type JwkSet, jwkSetSchema } from '@tessera/contracts';
import { ConfigError } from '@tessera/service-kit';
import jose from 'node-jose';
import type { PrivateKey } from './key-files.ts';

/** The keys of this process. Private parts stay in `active`; everything else is public. */
export interface SigningKeys {
  active: PrivateKey;
  /** Keys that consumers see: access tokens are accepted under these alone. */
  published: ReadonlyMap<string, KeyObject>;
  /** The published ones and the verify-only ones, under which old refresh tokens are still alive. */
  accepted: ReadonlyMap<string, KeyObject>;
  /** identity-service.md 2.7 */
  jwkSet: JwkSet;
  /** RFC 7638 thumbprints by kid, for the log. */
  thumbprints: Record<string, string>;
}

/**
 * Sorts the keys into their states. Exactly one signs: `activeKid`, or the only key. Those in `verifyOnlyKids` are
 * not published; all others are, so that consumers know the next key before it signs and the last one after.
 */
export async function arrangeSigningKeys(
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
      `JWT_ACTIVE_KID: is required, as there are several keys (${keys.map((key) => key.kid).join(', ')})`,
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
    // Only the public part ever enters the store: node-jose would export a private one on request.
    const pem = key.export({ type: 'spki', format: 'pem' });
    await store.add(pem, 'pem', { kid, use: 'sig', alg: 'RS256' });
    const { e, n } = key.export({ format: 'jwk' });
    thumbprints[kid] = createHash('sha256')
      .update(JSON.stringify({ e, kty: 'RSA', n }))
      .digest('base64url');
  }
  return { jwkSet: jwkSetSchema.parse(store.toJSON()), thumbprints };
}
