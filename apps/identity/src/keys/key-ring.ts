import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kidPattern } from '@tessera/contracts';
import { ConfigError } from '@tessera/service-kit';
import { z } from 'zod';

/** Beside the `<kid>.pem` files: when each key came into its states. Made by keys-cli, read by the service. */
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

const ringSchema = z.strictObject({ keys: z.array(recordSchema) });

export type KeyRecord = z.output<typeof recordSchema>;

/**
 * `next`: published, and does not sign yet. `active`: signs. `retiring`: published, signs no more. `verify_only`: not
 * published; refresh tokens under it still live.
 */
export type KeyState = 'next' | 'active' | 'retiring' | 'verify_only';

export function stateOf({ activatedAt, replacedAt, unpublishedAt }: KeyRecord): KeyState {
  if (unpublishedAt !== undefined) return 'verify_only';
  if (replacedAt !== undefined) return 'retiring';
  return activatedAt === undefined ? 'next' : 'active';
}

/** The records of a folder of keys; undefined where there are none. Throws a `ConfigError` where they cannot be read. */
export function readKeyRing(directory: string): KeyRecord[] | undefined {
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
  return data.keys;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The file's text. */
export function writeKeyRing(records: readonly KeyRecord[]): string {
  const keys = records.map(({ kid, madeAt, activatedAt, replacedAt, unpublishedAt }) => ({
    kid,
    made_at: madeAt.toISOString(),
    activated_at: activatedAt?.toISOString(),
    replaced_at: replacedAt?.toISOString(),
    unpublished_at: unpublishedAt?.toISOString(),
  }));
  return `${JSON.stringify({ keys }, null, 2)}\n`;
}
