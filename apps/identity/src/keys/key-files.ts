import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { kidPattern } from '@tessera/contracts';
import { ConfigError, type Logger } from '@tessera/service-kit';
import type { Config } from '../config.ts';
import { deletedKids, isDeleted, type KeyState, keyRingFile, readKeyRing, stateOf } from './key-ring.ts';

/** A private signing key and its `kid`. */
export interface PrivateKey {
  kid: string;
  key: KeyObject;
  /** When the key was created, if known. */
  madeAt?: Date;
}

/**
 * Reads the private keys: every `<kid>.pem` in `JWT_KEYS_DIR`, or the key in `JWT_PRIVATE_KEY` (PEM, or PEM encoded
 * as base64). Outside production, generates an ephemeral key if neither is set. Throws a `ConfigError` that names each
 * invalid file or variable.
 */
export function readPrivateKeys(config: Config['keys'], logger: Logger): PrivateKey[] {
  const { directory, privateKey, keyName } = config;
  if (directory !== undefined) return readDirectory(directory, logger);
  const kid = `${keyName}-key-1`;
  if (privateKey !== undefined) {
    const pem = privateKey.includes('-----BEGIN')
      ? privateKey
      : Buffer.from(privateKey, 'base64').toString('utf8');
    return [{ kid, key: parseKey(pem.replaceAll('\\n', '\n'), 'JWT_PRIVATE_KEY') }];
  }
  logger.warn({ kid }, 'no signing key configured; tokens of this ephemeral key become invalid at exit');
  return [{ kid, key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, madeAt: new Date() }];
}

/**
 * Reads which key signs and which keys are not published: from the environment if set there, otherwise from
 * `keys.json`, which keys-cli writes.
 */
export function readKeyStates({ directory, activeKid, verifyOnlyKids }: Config['keys']) {
  const records = directory === undefined ? undefined : readKeyRing(directory)?.records;
  if (records === undefined || activeKid !== undefined || verifyOnlyKids.length > 0)
    return { activeKid, verifyOnlyKids };
  const kidsOf = (wanted: KeyState) =>
    records.filter((record) => stateOf(record) === wanted).map(({ kid }) => kid);
  return { activeKid: kidsOf('active')[0], verifyOnlyKids: kidsOf('verify_only') };
}

/** The ids of deleted keys, which `keys.json` knows. */
export function readDeletedKids({ directory, keyName }: Config['keys']): string[] {
  const ring = directory === undefined ? undefined : readKeyRing(directory);
  return ring === undefined ? [] : deletedKids(ring, keyName);
}

function readDirectory(directory: string, logger: Logger): PrivateKey[] {
  const names = listPemFiles(directory);
  const ring = readKeyRing(directory);
  const madeAt = new Map(ring?.records.map((record) => [record.kid, record.madeAt]));
  const problems: string[] = [];
  const keys: PrivateKey[] = [];
  for (const name of names) {
    const kid = name.slice(0, -'.pem'.length);
    try {
      if (!kidPattern.test(kid))
        throw new ConfigError([`JWT_KEYS_DIR: ${name} must be named <name>-key-<number>.pem`]);
      // A key that leaked and was deleted may come back with an old copy of the files or of the Secret.
      if (ring !== undefined && isDeleted(kid, ring)) {
        logger.error({ kid }, `ignoring a deleted key, which is not in ${keyRingFile}; delete it again`);
        continue;
      }
      const path = join(directory, name);
      const key = parseKey(readFileSync(path, 'utf8'), `JWT_KEYS_DIR: ${name}`);
      keys.push({ kid, key, madeAt: madeAt.get(kid) ?? statSync(path).mtime });
    } catch (error) {
      problems.push(
        ...(error instanceof ConfigError ? error.problems : [`JWT_KEYS_DIR: ${name} cannot be read`]),
      );
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return keys;
}

function listPemFiles(directory: string): string[] {
  let names: string[];
  try {
    // Kubernetes adds hidden entries to the directories of mounted secrets.
    names = readdirSync(directory)
      .filter((name) => name.endsWith('.pem') && !name.startsWith('.'))
      .sort();
  } catch {
    throw new ConfigError(['JWT_KEYS_DIR: the directory cannot be read']);
  }
  if (names.length === 0) throw new ConfigError(['JWT_KEYS_DIR: contains no <kid>.pem file']);
  return names;
}

function parseKey(pem: string, source: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new ConfigError([`${source} is not an unencrypted private key in PEM form`]);
  }
  if (key.asymmetricKeyType !== 'rsa') throw new ConfigError([`${source} is not an RSA key`]);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < 2048) throw new ConfigError([`${source} has ${bits} bits; at least 2048 are required`]);
  return key;
}
