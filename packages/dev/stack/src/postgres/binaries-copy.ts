import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Copies the binaries, once for each version, to a folder from which every user can run them.
 * Yields several candidates, because a temporary folder may forbid execution.
 */
export function* copyForAccount(source: string, name: string): Generator<string> {
  for (const base of new Set(['/var/tmp', tmpdir()])) {
    const copy = path.join(base, name);
    if (!isGood(source, copy)) {
      try {
        replaceCopy(source, base, copy);
      } catch {
        // The folder is full or read-only, or another process was faster; the check below decides.
      }
    }
    if (isGood(source, copy)) yield copy;
  }
}

function isGood(source: string, copy: string): boolean {
  return isTrustworthy(copy) && isSameTree(source, copy);
}

// Any user can write to a temporary folder, so the copy is used only if root alone can have created it.
function isTrustworthy(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

// A cleaner of temporary folders deletes single files, so an existing folder may be incomplete.
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
