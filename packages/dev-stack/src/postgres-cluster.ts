import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from './error-code.ts';
import type { ServerAccount } from './postgres-account.ts';
import { canEnter } from './postgres-account.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { SERVER_ENVIRONMENT } from './postgres-binaries.ts';
import { StackError } from './stack-error.ts';

const INITDB_TIMEOUT_MS = 120_000;

/** Name of the superuser of every cluster made here. */
export const SUPERUSER = 'postgres';

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

export interface NewCluster {
  readonly dataDir: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount | undefined;
  /** A throw-away cluster is not flushed to disk. */
  readonly persistent: boolean;
}

/**
 * Makes a cluster as a whole or not at all: it is made under another name and renamed when it is complete.
 * @returns the folder where it lies
 */
export async function createCluster(cluster: NewCluster): Promise<string> {
  const { dataDir, account } = cluster;
  const folder = account === undefined ? dataDir : reachableFolder(dataDir, account);
  const staging = mkdtempSync(path.join(path.dirname(folder), '.postgres-new-'));
  try {
    await initialise(cluster, staging);
    rmSync(folder, { recursive: true, force: true });
    renameSync(path.join(staging, 'cluster'), folder);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  if (folder !== dataDir) writeFileSync(locationFile(dataDir), `${folder}\n`, { mode: 0o600 });
  return folder;
}

/** Removes a cluster and what was recorded about it. */
export function removeCluster(dataDir: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  rmSync(locationFile(dataDir), { force: true });
}

function locationFile(dataDir: string): string {
  return `${dataDir}.location`;
}

async function initialise(
  { password, binaries, account, persistent }: NewCluster,
  staging: string,
): Promise<void> {
  const passwordFile = path.join(staging, 'password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== undefined)
    for (const own of [staging, passwordFile]) chownSync(own, account.uid, account.gid);
  const flags = [
    `--pgdata=${path.join(staging, 'cluster')}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The built-in provider: the same order and the same Unicode letters on every machine, whatever its C library.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(persistent ? [] : ['--no-sync']),
  ];
  try {
    const options = { ...account, cwd: '/', env: SERVER_ENVIRONMENT, timeout: INITDB_TIMEOUT_MS };
    await promisify(execFile)(binaries.initdb, flags, options);
  } catch (cause) {
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new StackError(`PostgreSQL could not create its data folder:\n${output}`, { cause });
  }
}

// /var/lib first: the temporary folders may be emptied at a reboot or after some weeks.
function reachableFolder(dataDir: string, account: ServerAccount): string {
  const own = path.dirname(dataDir);
  if (canEnter(account, own)) return dataDir;
  for (const base of ['/var/lib/tessera', '/var/tmp', tmpdir()]) {
    try {
      mkdirSync(base, { recursive: true, mode: 0o755 });
      if (canEnter(account, base))
        return path.join(base, `tessera-postgres-data-${randomBytes(6).toString('hex')}`);
    } catch {
      // Read-only or missing: the next one.
    }
  }
  throw new StackError(
    `PostgreSQL, which must not run as root, can enter neither ${own} nor a temporary folder.\n` +
      'Run this command as an ordinary user, or set TESSERA_DATA_DIR to a folder that everyone may enter.',
  );
}
