import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A new empty folder that every user can enter, like a typical checkout. */
export function makeFolder(): string {
  const folder = makePrivateFolder();
  chmodSync(folder, 0o755);
  return folder;
}

/** A new empty folder that other users cannot enter, such as one under /root or from `mktemp -d`. */
export function makePrivateFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'dev-stack-test-'));
}

/** Removes the folder and a database that is stored elsewhere. */
export function removeFolder(folder: string, dataDir = path.join(folder, 'postgres')): void {
  const location = `${dataDir}.location`;
  if (existsSync(location)) rmSync(readFileSync(location, 'utf8').trim(), { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}
