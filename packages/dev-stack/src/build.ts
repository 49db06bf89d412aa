import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Variables } from './environment.ts';
import type { Service } from './services.ts';
import { StackError } from './stack-error.ts';

const BUILD_TIMEOUT_MS = 600_000;

export interface BuildRequest {
  readonly rootDir: string;
  readonly services: readonly Service[];
  readonly variables: Variables;
  readonly signal: AbortSignal;
  /** Told the name of each package whose turn it is. */
  readonly onPackage: (name: string) => void;
}

/** Builds the services and the packages that they use. @throws StackError with the build's output when it fails */
export async function buildServices({
  rootDir,
  services,
  variables,
  signal,
  onPackage,
}: BuildRequest): Promise<void> {
  const filters = services.map(({ name }) => `--filter=./apps/${name}`);
  const turbo = path.join(rootDir, 'node_modules', '.bin', 'turbo');
  const child = spawn(turbo, ['run', 'build', ...filters, '--ui=stream', '--output-logs=new-only'], {
    cwd: rootDir,
    env: { ...variables, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(BUILD_TIMEOUT_MS)]),
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output.push(line);
      const started = /^(\S+):build: cache miss/.exec(line)?.[1];
      if (started !== undefined) onPackage(started);
    });
  }
  const reason = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
  });
  signal.throwIfAborted();
  if (reason !== 'exit code 0')
    throw new StackError(`The build failed (${reason}):\n${output.slice(-200).join('\n')}`);
}
