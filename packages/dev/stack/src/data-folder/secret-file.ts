import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';

/** 32 random bytes as base64url, which needs no escaping in URLs, headers and shells. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Atomically creates a file that only its owner can read (mode 0600). Never overwrites an existing file.
 * @returns false when the file exists
 */
export function createPrivateFile(file: string, content: string): boolean {
  const draft = writeDraft(file, content);
  try {
    // Unlike a rename, a link fails if the file exists, so only one of two concurrent processes creates it.
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Atomically replaces a file with one that only its owner can read (mode 0600). */
export function replacePrivateFile(file: string, content: string): void {
  renameSync(writeDraft(file, content), file);
}

function writeDraft(file: string, content: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
  return draft;
}

/** @throws StackError with the path and the reason when the file cannot be read */
export function readPrivateFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StackError(`Cannot read ${file}: ${why}`, { cause });
  }
}

/**
 * Returns the secret in the file. Creates the file with a random secret if it does not exist.
 * @throws StackError when the file holds no valid secret (at least 16 visible characters)
 */
export function readOrCreateSecret(file: string): string {
  const fresh = randomSecret();
  if (createPrivateFile(file, `${fresh}\n`)) return fresh;
  const secret = readPrivateFile(file).trim();
  if (/^[\x21-\x7e]{16,}$/.test(secret)) return secret;
  throw new StackError(`${file} is damaged: it must hold one secret of at least 16 visible characters.`);
}
