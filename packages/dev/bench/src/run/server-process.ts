import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { searchPath } from '@tessera/stack';
import { threadPoolSize } from '@tessera/stack/thread-pool';

const readyWithinMs = 120_000;
const stopWithinMs = 5_000;

// Node runs the TypeScript files as they are.
const nodeArguments = ['--import', import.meta.resolve('tsx'), '--conditions=@tessera/source'];
const environment = { PATH: searchPath, NODE_ENV: 'production' };

interface ForkOptions {
  args?: readonly string[];
  variables?: Record<string, string>;
}

/** Starts a file of this package as a process that exchanges messages with this one. */
export function forkEntry(entry: URL, { args = [], variables }: ForkOptions = {}): ChildProcess {
  return fork(fileURLToPath(entry), args, {
    execArgv: nodeArguments,
    env: { ...environment, ...variables },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** A file of this package as a server process. */
export interface ServerProcess<Ready> {
  pid: number;
  /** The content of its ready message. */
  ready: Ready;
  /** Stops it and returns its exit code; null when a signal ended it. */
  stop(): Promise<number | null>;
}

/**
 * Starts a server with its options as a JSON argument, and waits for its ready message, a line of JSON on standard output.
 * @throws Error with the end of its standard error when it exits first
 */
export async function startServerProcess<Ready>(entry: URL, options: object): Promise<ServerProcess<Ready>> {
  const script = fileURLToPath(entry);
  const child = spawn(process.execPath, [...nodeArguments, script, JSON.stringify(options)], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...environment, UV_THREADPOOL_SIZE: threadPoolSize },
    // Its standard input ends when this process ends for any reason.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stop = () => stopProcess(child);
  try {
    const ready = JSON.parse(await firstLine(child, basename(script)));
    if (child.pid === undefined) throw new Error(`${script} could not be started`);
    return { pid: child.pid, ready, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(child: ChildProcess, name: string): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('the streams must be pipes');
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    // Keeps only the end of a long output, which contains the reason for an exit.
    errors = (errors + chunk.toString()).slice(-4000);
  });
  // At 'close', unlike at 'exit', all output has been read.
  const exited = once(child, 'close').then(([code]) => {
    throw new Error(`${name} exited with ${code} before it was ready: ${errors.trim()}`);
  });
  const late = sleep(readyWithinMs, undefined, { ref: false }).then(() => {
    throw new Error(`${name} was not ready after ${readyWithinMs / 1000} s`);
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited, late]);
  return String(line);
}

async function stopProcess(child: ChildProcess): Promise<number | null> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await exited;
  clearTimeout(timer);
  return child.exitCode;
}
