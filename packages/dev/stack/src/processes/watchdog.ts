import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { RecordedProcess } from './recorded-process.ts';
import { recordProcess } from './recorded-process.ts';

/** A watchdog that cleans up if this process dies without doing so (SIGKILL, out of memory). */
export interface Watchdog {
  readonly process: RecordedProcess | undefined;
  /** Stops this process with the signal. Entries are handled in reverse order. */
  stopOnDeath(pid: number, signal: 'TERM' | 'INT'): void;
  /** Removes this folder. */
  removeOnDeath(folder: string): void;
  /** Ends the watchdog without a clean-up. */
  release(): void;
}

// The end of its standard input signals that this process died. A shell takes 1 MB of memory, a second Node 40 MB.
const SCRIPT = `
trap '' HUP INT TERM
orders=
while IFS= read -r line; do
  [ "$line" = done ] && exit 0
  orders="$line
$orders"
done
printf %s "$orders" | while read -r verb what; do
  if [ "$verb" = rm ]; then rm -rf -- "$what"; continue; fi
  kill "-$verb" "$what" 2>/dev/null
  n=0
  while kill -0 "$what" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
  kill -KILL "$what" 2>/dev/null
done
`;

/** Starts the watchdog in its own session, so that a signal to this process's group does not reach it. */
export function startWatchdog(): Watchdog {
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without the watchdog, the next start cleans up after a crash.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  // Neither the watchdog nor its pipe keeps this process alive.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  const send = (line: string) => child.stdin.write(`${line}\n`);
  return {
    process: child.pid === undefined ? undefined : recordProcess(child.pid),
    stopOnDeath: (pid, signal) => send(`${signal} ${pid}`),
    removeOnDeath: (folder) => send(`rm ${folder}`),
    release: () => child.stdin.end('done\n'),
  };
}
