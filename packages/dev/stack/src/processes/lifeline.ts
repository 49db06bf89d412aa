import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { RecordedProcess } from './recorded-process.ts';
import { recordProcess } from './recorded-process.ts';

/** Cleans up after us if we die without a chance to do it ourselves (SIGKILL, out of memory). */
export interface Lifeline {
  readonly process: RecordedProcess | undefined;
  /** Have this process stopped with the signal. What was named last is done first. */
  stopAtDeath(pid: number, signal: 'TERM' | 'INT'): void;
  /** Have this folder removed. */
  removeAtDeath(folder: string): void;
  /** All is cleaned up: nothing is left to do. */
  release(): void;
}

// The end of its standard input is the news of our death. A shell costs one megabyte; a second Node would cost forty.
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

/** Starts the watcher in a session of its own, so that a signal to our whole group does not reach it. */
export function holdLifeline(): Lifeline {
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Losing it costs only the clean-up after a sudden death, which the next start makes good.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  // Neither the watcher nor the pipe to it keeps us alive.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  const say = (line: string) => child.stdin.write(`${line}\n`);
  return {
    process: child.pid === undefined ? undefined : recordProcess(child.pid),
    stopAtDeath: (pid, signal) => say(`${signal} ${pid}`),
    removeAtDeath: (folder) => say(`rm ${folder}`),
    release: () => child.stdin.end('done\n'),
  };
}
