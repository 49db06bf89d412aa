import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';

/** 32 random bytes as base64url: safe in a URL, a header and a shell. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Writes a file that only its owner may read (mode 0600), whole or not at all, and never over an existing one.
 * @returns false when the file was there already
 */
export function createPrivateFile(file: string, content: string): boolean {
  const draft = writeDraft(file, content);
  try {
    // Unlike a rename, a link refuses to replace: of two processes at once one is told that it came second.
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The same, over whatever stands there: a reader finds the old text or the new one, never a part. */
export function replacePrivateFile(file: string, content: string): void {
  renameSync(writeDraft(file, content), file);
}

function writeDraft(file: string, content: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
  return draft;
}

/** @throws StackError when the file cannot be read, saying which and why */
export function readPrivateFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StackError(`Cannot read ${file}: ${why}`, { cause });
  }
}

/**
 * The secret kept in the file, made on first use.
 * @throws StackError when the file holds no usable secret (at least 16 visible characters)
 */
export function readOrCreateSecret(file: string): string {
  const fresh = randomSecret();
  if (createPrivateFile(file, `${fresh}\n`)) return fresh;
  const secret = readPrivateFile(file).trim();
  if (/^[\x21-\x7e]{16,}$/.test(secret)) return secret;
  throw new StackError(`${file} is damaged: it must hold one secret of at least 16 visible characters.`);
}
