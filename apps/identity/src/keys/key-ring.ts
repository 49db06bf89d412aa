import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kidPattern } from '@tessera/contracts';
import { ConfigError } from '@tessera/service-kit';
import { z } from 'zod';

/** Records when each key entered each state. keys-cli writes it beside the `<kid>.pem` files; the service reads it. */
export const keyRingFile = 'keys.json';

const time = z.iso.datetime().transform((value) => new Date(value));

const recordSchema = z
  .strictObject({
    kid: z.string().regex(kidPattern),
    made_at: time,
    activated_at: time.optional(),
    replaced_at: time.optional(),
    unpublished_at: time.optional(),
  })
  .transform((record) => ({
    kid: record.kid,
    madeAt: record.made_at,
    activatedAt: record.activated_at,
    replacedAt: record.replaced_at,
    unpublishedAt: record.unpublished_at,
  }));

const ringSchema = z
  .strictObject({ keys: z.array(recordSchema), last_number: z.int().nonnegative() })
  .transform(({ keys, last_number: lastNumber }) => ({ records: keys, lastNumber }));

export type KeyRecord = z.output<typeof recordSchema>;

export interface KeyRing {
  records: readonly KeyRecord[];
  /** The highest number that a `kid` has had. Numbers are never used again. */
  lastNumber: number;
}

/**
 * - `next`: published, does not sign yet.
 * - `active`: published, signs.
 * - `retiring`: published, no longer signs.
 * - `verify_only`: not published; verifies refresh tokens only.
 */
export type KeyState = 'next' | 'active' | 'retiring' | 'verify_only';

export function stateOf({ activatedAt, replacedAt, unpublishedAt }: KeyRecord): KeyState {
  if (unpublishedAt !== undefined) return 'verify_only';
  if (replacedAt !== undefined) return 'retiring';
  return activatedAt === undefined ? 'next' : 'active';
}

/** The highest number that a `kid` of the ring has had. */
export function highestNumber({ records, lastNumber }: KeyRing): number {
  return Math.max(lastNumber, ...records.map(({ kid }) => numberOf(kid)));
}

/** Whether a key that the ring does not contain has a number that was in use. */
export function isDeleted(kid: string, ring: KeyRing): boolean {
  return ring.records.every((record) => record.kid !== kid) && numberOf(kid) <= highestNumber(ring);
}

/** The ids of the deleted keys with a name, at most the last 100. */
export function deletedKids(ring: KeyRing, keyName: string): string[] {
  const last = highestNumber(ring);
  return Array.from({ length: Math.min(last, 100) }, (_, index) => `${keyName}-key-${last - index}`).filter(
    (kid) => isDeleted(kid, ring),
  );
}

const numberOf = (kid: string) => Number(/\d+$/.exec(kid)?.[0] ?? 0);

/** Returns undefined if the directory has no `keys.json`. Throws a `ConfigError` if the file is invalid. */
export function readKeyRing(directory: string): KeyRing | undefined {
  const file = join(directory, keyRingFile);
  if (!existsSync(file)) return undefined;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError([`JWT_KEYS_DIR: ${keyRingFile} cannot be read`]);
  }
  const { data } = ringSchema.safeParse(parseJson(text));
  if (data === undefined) throw new ConfigError([`JWT_KEYS_DIR: ${keyRingFile} is not a list of keys`]);
  return data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the content of `keys.json`. */
export function serializeKeyRing({ records, lastNumber }: KeyRing): string {
  const keys = records.map(({ kid, madeAt, activatedAt, replacedAt, unpublishedAt }) => ({
    kid,
    made_at: madeAt.toISOString(),
    activated_at: activatedAt?.toISOString(),
    replaced_at: replacedAt?.toISOString(),
    unpublished_at: unpublishedAt?.toISOString(),
  }));
  return `${JSON.stringify({ keys, last_number: lastNumber }, null, 2)}\n`;
}
