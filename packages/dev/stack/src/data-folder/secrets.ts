import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Variables } from '../environment.ts';
import { StackError } from '../stack-error.ts';
import type { DataFolder } from './data-folder.ts';
import { createPrivateFile, readOrCreateSecret, readPrivateFile } from './secret-file.ts';

const KEY_BITS = 2048;

/**
 * Returns the secrets that the services need and the environment does not set. They are created once and kept in the
 * data folder, so that tokens and sessions remain valid after a restart.
 * @param given the variables that the user set; their values are not checked
 * @returns the variables to add
 * @throws StackError naming the damaged file
 */
export function prepareSecrets(folder: DataFolder, given: Variables): Variables {
  const added: Record<string, string> = {};
  if (!isGiven(given, 'SERVICE_TOKEN')) added.SERVICE_TOKEN = readOrCreateSecret(folder.serviceTokenFile);
  if (!isGiven(given, 'JWT_PRIVATE_KEY') && given.JWT_KEYS_DIR === undefined) {
    prepareKeys(folder.keysDir);
    added.JWT_KEYS_DIR = folder.keysDir;
  }
  if (!isGiven(given, 'SESSION_KEYS')) added.SESSION_KEYS = readOrCreateSecret(folder.sessionKeyFile);
  return added;
}

/** Whether a secret is set, by value or by file name. */
export function isGiven(variables: Variables, name: string): boolean {
  return variables[name] !== undefined || variables[`${name}_FILE`] !== undefined;
}

function prepareKeys(keysDir: string): void {
  mkdirSync(keysDir, { recursive: true, mode: 0o700 });
  const keyFiles = () => readdirSync(keysDir).filter((name) => name.endsWith('.pem'));
  // Creates a key only in an empty folder, because a rotation may have removed the first key.
  if (keyFiles().length === 0) createPrivateFile(path.join(keysDir, 'identity-key-1.pem'), newSigningKey());
  for (const name of keyFiles()) assertSigningKey(path.join(keysDir, name));
}

function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: KEY_BITS });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function assertSigningKey(file: string): void {
  const problem = findKeyProblem(readPrivateFile(file));
  if (problem === undefined) return;
  throw new StackError(
    `The signing key ${file} ${problem}.\n` +
      'Restore the file, or delete it: a folder without any key gets a new one, which invalidates all issued tokens.',
  );
}

function findKeyProblem(pem: string): string | undefined {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    if (asymmetricKeyType !== 'rsa') return 'is not an RSA key';
    return (asymmetricKeyDetails?.modulusLength ?? 0) < KEY_BITS
      ? `has fewer than ${KEY_BITS} bits`
      : undefined;
  } catch {
    return 'is damaged or not a private key in PEM';
  }
}
