import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { searchPath } from '@tessera/stack';
import { threadPoolSize } from '@tessera/stack/thread-pool';
import type { z } from 'zod';
import { nodeArguments } from './fork-entry.ts';

const readyWithinMs = 120_000;
const stopWithinMs = 5_000;

/** One of our entry files, or a peer's, as a server of its own. */
export interface ServerProcess<Ready> {
  pid: number;
  /** What its one line on standard output said. */
  ready: Ready;
  /** Ends it; answers its exit code, null where a signal ended it. */
  stop(): Promise<number | null>;
}

/**
 * Starts it with its options as JSON, and waits for the line that says where it is.
 * @throws Error with the end of its standard error when it ends before
 */
export async function startServerProcess<Schema extends z.ZodType>(
  entry: URL,
  options: object,
  schema: Schema,
): Promise<ServerProcess<z.infer<Schema>>> {
  const script = fileURLToPath(entry);
  const child = spawn(process.execPath, [...nodeArguments(), script, JSON.stringify(options)], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: searchPath, NODE_ENV: 'production', UV_THREADPOOL_SIZE: threadPoolSize },
    // Its standard input ends when the bench does, however that comes about.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stop = () => stopProcess(child);
  try {
    const ready = schema.parse(JSON.parse(await firstLine(child, basename(script))));
    if (child.pid === undefined) throw new Error(`${script} could not be started`);
    return { pid: child.pid, ready, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(child: ChildProcess, name: string): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('its streams are pipes');
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    // The end says why it ended; the rest of a chatty one would only fill the memory.
    said = (said + chunk.toString()).slice(-4000);
  });
  // Closed, and not only ended: its streams have been read by then.
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`${name} ended with ${code} before it was ready: ${said.trim()}`);
  });
  const late = sleep(readyWithinMs, undefined, { ref: false }).then(() => {
    throw new Error(`${name} is not ready in ${readyWithinMs / 1000} s`);
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended, late]);
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
