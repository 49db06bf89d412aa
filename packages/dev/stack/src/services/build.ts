import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Variables } from '../environment.ts';
import { errorCode } from '../error-code.ts';
import { StackError } from '../stack-error.ts';
import type { Service } from './services.ts';

const BUILD_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 5_000;

export interface BuildRequest {
  readonly rootDir: string;
  readonly services: readonly Service[];
  readonly variables: Variables;
  readonly signal: AbortSignal;
  /** Called with the name of each package when its build starts. */
  readonly onPackage: (name: string) => void;
}

/** Builds the services and their packages. @throws StackError with the build's output when it fails */
export async function buildServices(request: BuildRequest): Promise<void> {
  const { rootDir, services, variables, signal, onPackage } = request;
  signal.throwIfAborted();
  const filters = services.map(({ name }) => `--filter=./apps/${name}`);
  const turbo = path.join(rootDir, 'node_modules', '.bin', 'turbo');
  const child = spawn(turbo, ['run', 'build', ...filters, '--ui=stream', '--output-logs=new-only'], {
    cwd: rootDir,
    // A process group, so that it can be stopped as a whole.
    detached: true,
    env: { ...variables, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output.push(line);
      const started = /^(\S+):build: cache miss/.exec(line)?.[1];
      if (started !== undefined) onPackage(started);
    });
  }
  const reason = await waitForBuild(child, signal);
  signal.throwIfAborted();
  if (reason === 'exit code 0') return;
  throw new StackError(`The build failed (${reason}):\n${output.slice(-200).join('\n')}`);
}

async function waitForBuild(child: ChildProcess, stopSignal: AbortSignal): Promise<string> {
  const stop = () => {
    signalGroup(child, 'SIGTERM');
    setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
  };
  stopSignal.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(stop, BUILD_TIMEOUT_MS);
  try {
    // 'close' comes after the last output, which contains the reason of a failure.
    return await new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, killedBy) =>
        resolve(killedBy === null ? `exit code ${code}` : `signal ${killedBy}`),
      );
    });
  } finally {
    clearTimeout(timer);
    stopSignal.removeEventListener('abort', stop);
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
