import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DataFolder, openDataFolder } from '../src/data-folder/data-folder.ts';
import { createPrivateFile } from '../src/data-folder/secret-file.ts';
import { prepareSecrets } from '../src/data-folder/secrets.ts';
import { makeFolder, removeFolder } from './support/temporary-folder.ts';

let folder: DataFolder;
let keyFile: string;
beforeEach(() => {
  folder = openDataFolder(makeFolder());
  keyFile = path.join(folder.keysDir, 'identity-key-1.pem');
});
afterEach(() => removeFolder(folder.root));

describe('prepareSecrets', () => {
  it('creates tokens and keys of 32 random bytes and an RSA key of 2048 bits that only their owner can read', () => {
    const added = prepareSecrets(folder, {});
    expect(Buffer.from(added.SERVICE_TOKEN ?? '', 'base64url')).toHaveLength(32);
    expect(Buffer.from(added.SESSION_KEYS ?? '', 'base64url')).toHaveLength(32);
    expect(added.JWT_KEYS_DIR).toBe(folder.keysDir);
    const pem = readFileSync(keyFile, 'utf8');
    expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----/);
    expect(createPrivateKey(pem).asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(statSync(folder.serviceTokenFile).mode & 0o777).toBe(0o600);
    expect(statSync(folder.sessionKeyFile).mode & 0o777).toBe(0o600);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(statSync(folder.keysDir).mode & 0o777).toBe(0o700);
  });

  it('reuses existing secrets', () => {
    const first = prepareSecrets(folder, {});
    const key = readFileSync(keyFile, 'utf8');
    expect(prepareSecrets(folder, {})).toEqual(first);
    expect(readFileSync(keyFile, 'utf8')).toBe(key);
  });

  it.each([
    [{ SERVICE_TOKEN: 'x' }, ['JWT_KEYS_DIR', 'SESSION_KEYS']],
    [{ SERVICE_TOKEN_FILE: '/x' }, ['JWT_KEYS_DIR', 'SESSION_KEYS']],
    [{ JWT_PRIVATE_KEY: 'x' }, ['SERVICE_TOKEN', 'SESSION_KEYS']],
    [{ JWT_PRIVATE_KEY_FILE: '/x' }, ['SERVICE_TOKEN', 'SESSION_KEYS']],
    [{ JWT_KEYS_DIR: '/x' }, ['SERVICE_TOKEN', 'SESSION_KEYS']],
    [{ SESSION_KEYS: 'x' }, ['SERVICE_TOKEN', 'JWT_KEYS_DIR']],
    [{ SESSION_KEYS_FILE: '/x' }, ['SERVICE_TOKEN', 'JWT_KEYS_DIR']],
  ])('creates no secret that the environment sets: %j', (given, added) => {
    expect(Object.keys(prepareSecrets(folder, given))).toEqual(added);
    expect(readdirSync(folder.root).includes('keys')).toBe(added.includes('JWT_KEYS_DIR'));
  });

  it('does not restore the first key after a rotation', () => {
    prepareSecrets(folder, {});
    renameSync(keyFile, path.join(folder.keysDir, 'identity-key-2.pem'));
    prepareSecrets(folder, {});
    expect(readdirSync(folder.keysDir)).toEqual(['identity-key-2.pem']);
  });

  it.each([
    ['empty', '', 'is damaged'],
    ['cut short', '-----BEGIN PRIVATE KEY-----\nMIIE\n', 'is damaged'],
    ['weak', weakKey(), 'has fewer than 2048 bits'],
    ['of another kind', ellipticKey(), 'is not an RSA key'],
  ])('refuses a key that is %s, naming its file', (_kind, pem, problem) => {
    prepareSecrets(folder, {});
    writeFileSync(keyFile, pem);
    expect(() => prepareSecrets(folder, {})).toThrow(`The signing key ${keyFile} ${problem}`);
    rmSync(keyFile);
    prepareSecrets(folder, {});
    expect(() => createPrivateKey(readFileSync(keyFile, 'utf8'))).not.toThrow();
  });

  it('rejects an empty service token file', () => {
    writeFileSync(folder.serviceTokenFile, '\n');
    expect(() => prepareSecrets(folder, {})).toThrow(`${folder.serviceTokenFile} is damaged`);
  });
});

describe('createPrivateFile', () => {
  it('never overwrites an existing file and leaves no temporary file', () => {
    const file = path.join(folder.root, 'once');
    expect(createPrivateFile(file, 'first')).toBe(true);
    expect(createPrivateFile(file, 'second')).toBe(false);
    expect(readFileSync(file, 'utf8')).toBe('first');
    expect(readdirSync(folder.root).filter((name) => name.startsWith('once'))).toEqual(['once']);
  });
});

function weakKey(): string {
  return generateKeyPairSync('rsa', { modulusLength: 1024 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

function ellipticKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}
