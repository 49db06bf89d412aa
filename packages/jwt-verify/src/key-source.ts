import type { KeyObject } from 'node:crypto';

/** Where public keys come from. An unknown kid is `undefined`; a source that cannot tell throws `KeysUnavailableError`. */
export interface KeySource {
  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>;
}

/**
 * Keys that are at hand, as in the service that signs. Throws `TypeError` for a key that is not a public RSA key of
 * at least 2048 bits: a secret one would let HMAC in, and a private one has no business in a verifier.
 */
export function localKeySource(keys: ReadonlyMap<string, KeyObject>): KeySource {
  // A Map and not an object, so that no kid can name an inherited member; a copy, so that it stays what was checked.
  const own = new Map(keys);
  for (const [kid, key] of own) {
    if (!isUsableKey(key)) throw new TypeError(`key ${kid} is not a public RSA key of 2048 bits or more`);
  }
  return { find: (kid) => own.get(kid) };
}

/** RFC 7518 3.3 asks for 2048 bits; more than 8192 would make each verification a burden. */
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
