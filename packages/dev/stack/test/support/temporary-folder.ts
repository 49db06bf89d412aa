import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A new empty folder that every user may enter, as a checkout usually is. */
export function makeFolder(): string {
  const folder = makePrivateFolder();
  chmodSync(folder, 0o755);
  return folder;
}

/** A new empty folder that nobody else may enter, such as one under /root or made by `mktemp -d`. */
export function makePrivateFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'dev-stack-test-'));
}

/** Removes the folder, and the database that was put elsewhere for it. */
export function removeFolder(folder: string, dataDir = path.join(folder, 'postgres')): void {
  const location = `${dataDir}.location`;
  if (existsSync(location)) rmSync(readFileSync(location, 'utf8').trim(), { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}
