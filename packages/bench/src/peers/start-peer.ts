import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import {
  type BetterAuthOptions,
  type BetterAuthReady,
  betterAuthReadySchema,
  type OidcOptions,
  type OidcReady,
  oidcReadySchema,
} from './peer-messages.ts';

/** A peer as a process of its own. */
export interface RunningPeer<Ready> {
  ready: Ready;
  pid: number;
  /** Ends it; answers its exit code, null where a signal ended it. */
  stop: () => Promise<number | null>;
}

export function startOidcProvider(options: OidcOptions): Promise<RunningPeer<OidcReady>> {
  return startPeer('oidc-provider.server.ts', options, oidcReadySchema);
}

export function startBetterAuth(options: BetterAuthOptions): Promise<RunningPeer<BetterAuthReady>> {
  return startPeer('better-auth.server.ts', options, betterAuthReadySchema);
}

async function startPeer<Schema extends z.ZodType>(
  file: string,
  options: unknown,
  schema: Schema,
): Promise<RunningPeer<z.infer<Schema>>> {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@tessera/source', script, JSON.stringify(options)],
    { cwd: fileURLToPath(new URL('.', import.meta.url)), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} could not be started`);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill('SIGTERM');
    await once(child, 'exit');
    return child.exitCode;
  };
  try {
    return { ready: schema.parse(JSON.parse(await firstLine(child, file))), pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(child: ChildProcess, file: string): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('The streams of a peer are pipes.');
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    // The end says why it ended; the rest of a chatty one would only fill the memory.
    complaints = `${complaints}${chunk}`.slice(-4000);
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code} before it was ready: ${complaints}`);
  });
  // A peer that ends after its line has said nothing about the start.
  ended.catch(() => {});
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  return String(line);
}
