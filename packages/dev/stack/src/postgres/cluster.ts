import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';
import type { PostgresBinaries } from './binaries.ts';
import { canEnter, type ServerAccount } from './server-account.ts';

/**
 * Where the cluster really lies: in the folder asked for, or, when we are root and the server's user cannot enter
 * that folder, in one that it can. The latter is recorded beside the folder asked for (`<dataDir>.location`).
 */
export function locateCluster(dataDir: string): string {
  const record = locationFile(dataDir);
  if (!existsSync(record)) return dataDir;
  const folder = readFileSync(record, 'utf8').trim();
  if (path.isAbsolute(folder) && existsSync(path.join(folder, 'PG_VERSION'))) return folder;
  throw new StackError(
    `The database of ${dataDir} should lie in ${folder} (says ${record}), but there is none.\n` +
      `Bring it back, or delete ${record} to begin with an empty database.`,
  );
}

/** @throws StackError when the folder holds something other than a cluster of this major version that we can read */
export function assertUsableCluster(
  folder: string,
  binaries: PostgresBinaries,
  account: ServerAccount | undefined,
): void {
  const major = readClusterVersion(folder);
  if (major !== binaries.major) {
    throw new StackError(
      `${folder} holds a database of PostgreSQL ${major}, but this is PostgreSQL ${binaries.major}.\n` +
        'Move the folder away to begin with an empty database, or upgrade it with pg_upgrade.',
    );
  }
  if (account !== undefined && !canEnter(account, folder)) {
    throw new StackError(
      `PostgreSQL, which must not run as root, cannot enter ${folder}.\n` +
        'Make every folder above it accessible (chmod o+x), or run this command as an ordinary user.',
    );
  }
}

/** Whether a cluster is there; an empty folder is none. Anything else is left for {@link assertUsableCluster} to judge. */
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
    throw new StackError(`The database folder ${folder} ${why}: no PG_VERSION. Move it away to begin anew.`, {
      cause,
    });
  }
}

/** Removes a cluster and what was recorded about it. */
export function removeCluster(dataDir: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  rmSync(locationFile(dataDir), { force: true });
}

/** The file that says where the data lies when that is not in the folder asked for. */
export function locationFile(dataDir: string): string {
  return `${dataDir}.location`;
}
