import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { UsageError } from '@tessera/stack/command-line';

/** Whether this process runs on the given version, such as `24` or `24.21.0`. */
export function isCurrentNode(version: string): boolean {
  return `${process.versions.node}.`.startsWith(`${version}.`);
}

/**
 * Runs the bench again on another version of Node. Every process that it starts then runs on that version, too.
 * @returns its exit code
 * @throws UsageError when npm cannot provide that version
 */
export async function rerunOnNode(version: string): Promise<number> {
  const child = spawn(findNode(version), [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
  });
  // A terminal sends Ctrl-C to both processes; SIGTERM reaches this one alone.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

// The npm package `node` contains the binary; npx installs it in the cache of npm, outside of the repository.
function findNode(version: string): string {
  const print = 'JSON.stringify([process.execPath, process.versions.node])';
  const { status, stdout, stderr } = spawnSync('npx', ['--yes', `node@${version}`, '--print', print], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new UsageError(`--node: npm cannot install Node ${version}: ${stderr.trim()}`);
  const [path, installed] = JSON.parse(stdout);
  if (!`${installed}.`.startsWith(`${version}.`)) {
    throw new UsageError(`--node: npm installed Node ${installed} instead of ${version}`);
  }
  return path;
}
