import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { StackError } from '../stack-error.ts';
import { type PostgresBinaries, SERVER_ENVIRONMENT } from './binaries.ts';
import { locationFile } from './cluster.ts';
import { canEnter, type ServerAccount } from './server-account.ts';

const INITDB_TIMEOUT_MS = 120_000;

/** The superuser of every cluster. */
export const SUPERUSER = 'postgres';

export interface NewCluster {
  readonly dataDir: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount | undefined;
  /** Whether the cluster is synchronized to disk; a temporary one is not. */
  readonly persistent: boolean;
}

/**
 * Creates a cluster atomically: creates it under another name and renames it when it is complete.
 * @returns the folder of the cluster
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
    // The builtin provider, which PostgreSQL 17 introduced, sorts and classifies letters the same way on every machine.
    ...(Number(binaries.major) < 17
      ? ['--locale=C.UTF-8']
      : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
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

// /var/lib first, because temporary folders may be emptied at a reboot or after some weeks.
function reachableFolder(dataDir: string, account: ServerAccount): string {
  const own = path.dirname(dataDir);
  if (canEnter(account, own)) return dataDir;
  for (const base of ['/var/lib/tessera', '/var/tmp', tmpdir()]) {
    try {
      // The mode is set separately, because the umask applies to mkdir.
      if (mkdirSync(base, { recursive: true }) !== undefined) chmodSync(base, 0o755);
      if (canEnter(account, base))
        return path.join(base, `tessera-postgres-data-${randomBytes(6).toString('hex')}`);
    } catch {
      // Read-only or missing: try the next one.
    }
  }
  throw new StackError(
    `PostgreSQL, which must not run as root, can enter neither ${own} nor a temporary folder.\n` +
      'Run this command as an ordinary user, or set TESSERA_DATA_DIR to a folder that everyone may enter.',
  );
}
