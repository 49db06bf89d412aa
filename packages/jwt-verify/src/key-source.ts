import type { KeyObject } from 'node:crypto';

/** A source of public keys. Returns undefined for an unknown kid; throws `KeysUnavailableError` if it has no keys. */
export interface KeySource {
  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>;
}

/**
 * A source of given keys, for the service that signs. Throws `TypeError` for a key that is not a public RSA key of at
 * least 2048 bits: a secret key would permit HMAC, and a verifier needs no private key.
 */
export function localKeySource(keys: ReadonlyMap<string, KeyObject>): KeySource {
  // A Map, so that no kid can name an inherited member; a copy, so that the keys stay the checked ones.
  const own = new Map(keys);
  for (const [kid, key] of own) {
    if (!isUsableKey(key)) throw new TypeError(`key ${kid} is not a public RSA key of 2048 bits or more`);
  }
  return { find: (kid) => own.get(kid) };
}

/** RFC 7518 3.3 requires 2048 bits; more than 8192 bits would make verification slow. */
export function isUsableKey(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  return (
    key.type === 'public' &&
    key.asymmetricKeyType === 'rsa' &&
    modulusLength >= 2048 &&
    modulusLength <= 8192 &&
    publicExponent >= 65_537n
  );
}
