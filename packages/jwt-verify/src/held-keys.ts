import type { KeyObject } from 'node:crypto';
import type { JwksResponse } from './jwks-client.ts';

/** The keys of the last successful fetch. */
export interface HeldKeys {
  keys: ReadonlyMap<string, KeyObject>;
  etag: string | undefined;
  /** Time of the key source's clock, in milliseconds. */
  confirmedAt: number;
  maxAgeMs: number;
  lastFetchedAt: Date;
}

/** Returns the keys after a fetch. An unchanged key stays the same object, because cached signatures refer to it. */
export function holdKeys(
  previous: HeldKeys | undefined,
  response: JwksResponse,
  confirmedAt: number,
): HeldKeys {
  const known = previous?.keys ?? new Map<string, KeyObject>();
  const received = response.keySet?.keys ?? known;
  return {
    keys: new Map([...received].map(([kid, key]) => [kid, sameOr(known.get(kid), key)])),
    etag: response.etag,
    confirmedAt,
    maxAgeMs: response.maxAgeSeconds * 1000,
    lastFetchedAt: new Date(),
  };
}

/** Whether both have the same keys under the same kids. */
export function isSameKeys(one: HeldKeys | undefined, other: HeldKeys): boolean {
  return (
    one !== undefined &&
    one.keys.size === other.keys.size &&
    [...one.keys].every(([kid, key]) => other.keys.get(kid) === key)
  );
}

function sameOr(known: KeyObject | undefined, received: KeyObject): KeyObject {
  return known?.equals(received) === true ? known : received;
}
