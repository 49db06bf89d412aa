import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Copies the binary tree, once for each version, to where every user of this machine can run it.
 * Yields one candidate after another (a temporary folder may forbid execution) for the caller to try.
 */
export function* copyForAccount(source: string, name: string): Generator<string> {
  for (const base of new Set(['/var/tmp', tmpdir()])) {
    const copy = path.join(base, name);
    if (!isGood(source, copy)) {
      try {
        replaceCopy(source, base, copy);
      } catch {
        // A full or read-only folder, or another run was faster: the check below tells.
      }
    }
    if (isGood(source, copy)) yield copy;
  }
}

function isGood(source: string, copy: string): boolean {
  return isTrustworthy(copy) && isSameTree(source, copy);
}

// Anyone may write to a temporary folder: what stands there under our name is run only if we alone, who are root, can
// have made it.
function isTrustworthy(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

// Temporary folders are tidied file by file, so that the folder exists does not say that it is whole.
function isSameTree(source: string, copy: string): boolean {
  return readdirSync(source, { recursive: true, encoding: 'utf8' }).every((name) => {
    const original = lstatSync(path.join(source, name));
    const copied = lstatSync(path.join(copy, name), { throwIfNoEntry: false });
    if (copied === undefined || copied.uid !== process.getuid?.()) return false;
    return original.isFile() ? copied.isFile() && copied.size === original.size : true;
  });
}

function replaceCopy(source: string, base: string, copy: string): void {
  const staging = mkdtempSync(path.join(base, 'tessera-postgres-new-'));
  try {
    const fresh = path.join(staging, 'fresh');
    cpSync(source, fresh, { recursive: true, verbatimSymlinks: true });
    openTree(fresh);
    if (lstatSync(copy, { throwIfNoEntry: false }) !== undefined) renameSync(copy, path.join(staging, 'old'));
    renameSync(fresh, copy);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function openTree(root: string): void {
  chmodSync(root, 0o755);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const target = path.join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    chmodSync(target, entry.isDirectory() || path.basename(entry.parentPath) === 'bin' ? 0o755 : 0o644);
  }
}
