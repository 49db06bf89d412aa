import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LogLine } from './log-lines.ts';

export interface Child {
  process: ChildProcess;
  /** The standard output so far. */
  output: () => string;
  lines: () => LogLine[];
  errors: () => string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

/** Runs a TypeScript file of this folder as a process, with `options` as JSON as its argument. */
export function startChild(file: string, options: object, environment: Record<string, string> = {}): Child {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@tessera/source', path, JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } },
  );
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  return {
    process: child,
    output: () => output,
    lines: () =>
      output
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    errors: () => errors,
    ended: once(child, 'close').then(([code, signal]) => code ?? signal),
  };
}
