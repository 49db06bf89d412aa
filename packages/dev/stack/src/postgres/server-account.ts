import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { StackError } from '../stack-error.ts';

/** The user that runs the server when this process is root; PostgreSQL refuses to run as root. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
}

const ACCOUNT_NAME = 'postgres';

/**
 * @param clusterDir the folder of the cluster; an existing cluster keeps its owner
 * @returns undefined when this process is not root and runs the server itself
 */
export function serverAccount(clusterDir: string): ServerAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return findAccount() ?? createAccount();
}

/** Whether the user can enter the folder. Tested, not computed, because ACLs and mounts matter too. */
export function canEnter(account: ServerAccount, folder: string): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...account, cwd: '/' });
  return status === 0;
}

function findAccount(): ServerAccount | undefined {
  try {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(execFileSync('id', [flag, ACCOUNT_NAME], { encoding: 'utf8', stdio: 'pipe' })),
    );
    return uid === undefined || gid === undefined || uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

function createAccount(): ServerAccount {
  const flags = [
    '--system',
    '--user-group',
    '--no-create-home',
    '--shell',
    '/usr/sbin/nologin',
    ACCOUNT_NAME,
  ];
  const { stderr, error } = spawnSync('useradd', flags, { encoding: 'utf8' });
  // Looked up again even if useradd failed: another process may have created the user.
  const account = findAccount();
  if (account === undefined) {
    throw new StackError(
      `PostgreSQL refuses to run as root, and the user "${ACCOUNT_NAME}" could not be created: ${error?.message ?? stderr.trim()}\n` +
        'Create that user, or run this command as an ordinary user.',
    );
  }
  return account;
}
