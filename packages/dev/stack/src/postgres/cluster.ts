import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';
import type { PostgresBinaries } from './binaries.ts';
import { canEnter, type ServerAccount } from './server-account.ts';

/**
 * The actual folder of the cluster: the requested folder, or another one if the server's user cannot enter it. The
 * file `<dataDir>.location` records the other folder.
 */
export function locateCluster(dataDir: string): string {
  const record = locationFile(dataDir);
  if (!existsSync(record)) return dataDir;
  const folder = readFileSync(record, 'utf8').trim();
  if (path.isAbsolute(folder) && existsSync(path.join(folder, 'PG_VERSION'))) return folder;
  throw new StackError(
    `The database of ${dataDir} should lie in ${folder} (says ${record}), but there is none.\n` +
      `Restore it, or delete ${record} to start with an empty database.`,
  );
}

/** @throws StackError when the folder holds no readable cluster of this major version */
export function assertUsableCluster(
  folder: string,
  binaries: PostgresBinaries,
  account: ServerAccount | undefined,
): void {
  const major = readClusterVersion(folder);
  if (major !== binaries.major) {
    throw new StackError(
      `${folder} holds a database of PostgreSQL ${major}, but this is PostgreSQL ${binaries.major}.\n` +
        'Move the folder away to start with an empty database, or upgrade it with pg_upgrade.',
    );
  }
  if (account !== undefined && !canEnter(account, folder)) {
    throw new StackError(
      `PostgreSQL, which must not run as root, cannot enter ${folder}.\n` +
        'Make every folder above it accessible (chmod o+x), or run this command as an ordinary user.',
    );
  }
}

/** Whether the folder has content; {@link assertUsableCluster} checks that it is a cluster. */
export function hasCluster(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw new StackError(`Cannot read the database folder ${folder}: ${String(error)}`, { cause: error });
  }
}

function readClusterVersion(folder: string): string {
  try {
    return readFileSync(path.join(folder, 'PG_VERSION'), 'utf8').trim();
  } catch (cause) {
    const why = errorCode(cause) === 'EACCES' ? 'cannot be read by this user' : 'is damaged';
    throw new StackError(
      `The database folder ${folder} ${why}: no PG_VERSION. Move it away to start with an empty database.`,
      {
        cause,
      },
    );
  }
}

/** Removes a cluster and its location file. */
export function removeCluster(dataDir: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  rmSync(locationFile(dataDir), { force: true });
}

/** The file that records a cluster folder other than the requested one. */
export function locationFile(dataDir: string): string {
  return `${dataDir}.location`;
}
