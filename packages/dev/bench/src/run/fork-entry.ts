import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { searchPath } from '@tessera/stack';

/** What Node is told so that it runs our TypeScript as it stands. */
export function nodeArguments(): string[] {
  return ['--import', import.meta.resolve('tsx'), '--conditions=@tessera/source'];
}

interface ForkOptions {
  args?: readonly string[];
  environment?: Record<string, string>;
}

/** Starts one of our files as a process that messages can be exchanged with. */
export function forkEntry(entry: URL, { args = [], environment }: ForkOptions = {}): ChildProcess {
  return fork(fileURLToPath(entry), args, {
    execArgv: nodeArguments(),
    env: { PATH: searchPath, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}
