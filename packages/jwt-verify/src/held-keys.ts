import type { KeyObject } from 'node:crypto';
import type { JwksAnswer } from './jwks-client.ts';

/** The keys of the last good answer. */
export interface HeldKeys {
  keys: ReadonlyMap<string, KeyObject>;
  etag: string | undefined;
  /** By the clock of the source, in milliseconds. */
  confirmedAt: number;
  maxAgeMs: number;
  lastFetchedAt: Date;
}

/** The keys to hold after an answer. A key that did not change stays the same object: remembered signatures hang on it. */
export function holdKeys(previous: HeldKeys | undefined, answer: JwksAnswer, confirmedAt: number): HeldKeys {
  const known = previous?.keys ?? new Map<string, KeyObject>();
  const received = answer.keySet?.keys ?? known;
  return {
    keys: new Map([...received].map(([kid, key]) => [kid, sameOr(known.get(kid), key)])),
    etag: answer.etag,
    confirmedAt,
    maxAgeMs: answer.maxAgeSeconds * 1000,
    lastFetchedAt: new Date(),
  };
}

/** Whether both hold the same keys under the same kids. */
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
