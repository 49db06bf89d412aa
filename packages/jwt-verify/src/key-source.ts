import type { KeyObject } from 'node:crypto';

/** Where public keys come from. An unknown kid is `undefined`; a source that cannot tell throws `KeysUnavailableError`. */
export interface KeySource {
  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>;
}

/** Keys that are at hand, as in the service that signs. A Map, so that no kid can name an inherited member. */
export function localKeySource(keys: ReadonlyMap<string, KeyObject>): KeySource {
  return { find: (kid) => keys.get(kid) };
}
