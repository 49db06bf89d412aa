import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { type Variables, withVariables } from './environment.ts';
import { repositoryRoot } from './repository-root.ts';

/**
 * Runs turbo in the repository's root, with this process's terminal and environment.
 * @returns its exit code
 */
export async function runTurbo(args: readonly string[], variables: Variables = {}): Promise<number> {
  const turbo = path.join(repositoryRoot, 'node_modules', '.bin', 'turbo');
  const child = spawn(turbo, args, { cwd: repositoryRoot, env: withVariables(variables), stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  // A terminal sends Ctrl-C to both processes, so SIGINT is not forwarded.
  const ignore = () => undefined;
  process.on('SIGINT', ignore).on('SIGTERM', forward).on('SIGHUP', forward);
  try {
    const [code] = await once(child, 'exit');
    return code ?? 1;
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', forward).off('SIGHUP', forward);
  }
}

/** Builds both services; takes about a second when nothing changed. @returns turbo's exit code */
export async function buildBothServices(): Promise<number> {
  return runTurbo([
    ...['run', 'build', '--filter=@tessera/identity', '--filter=@tessera/issues'],
    '--output-logs=errors-only',
  ]);
}
