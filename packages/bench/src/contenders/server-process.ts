import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { searchPath } from '@tessera/stack';
import { nodeArguments } from '../run/fork-entry.ts';

const readyWithinMs = 120_000;
const stopWithinMs = 5_000;

/** One of our entry files, or a peer's, as a server of its own. */
export interface ServerProcess {
  pid: number;
  /** What its one line on standard output said. */
  ready: unknown;
  stop(): Promise<void>;
}

/**
 * Starts it with its options as JSON, and waits for the line that says where it is.
 * @throws Error with the end of its standard error when it ends before
 */
export async function startServerProcess(entry: URL, options: object): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...nodeArguments(), fileURLToPath(entry), JSON.stringify(options)], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: searchPath, NODE_ENV: 'production', UV_THREADPOOL_SIZE: '6' },
    // Its standard input ends when the bench does, however that comes about.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2000);
  });
  const stop = () => stopProcess(child);
  try {
    const ready: unknown = JSON.parse(await firstLine(child, () => said));
    if (child.pid === undefined) throw new Error('it was not started');
    return { pid: child.pid, ready, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(child: ChildProcess, said: () => string): Promise<string> {
  if (child.stdout === null) throw new Error('no standard output');
  const lines = createInterface(child.stdout);
  const signal = AbortSignal.timeout(readyWithinMs);
  return new Promise<string>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`not ready in ${readyWithinMs / 1000} s`)));
    lines.once('line', resolve);
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said().trim()}`)));
    child.once('error', reject);
  });
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await exited;
  clearTimeout(timer);
}
