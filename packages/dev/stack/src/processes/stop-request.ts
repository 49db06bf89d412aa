import { readFileSync } from 'node:fs';
import { isRunning } from './recorded-process.ts';
import { findStarters } from './starters.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const STARTER_POLL_MS = 1_000;
// One Ctrl-C may arrive twice: from the terminal, and again from the package manager in between.
const SAME_REQUEST_MS = 1_000;

/** The wish that everything ends: by a signal, or because whoever started us is gone. */
export interface StopRequest {
  readonly signal: AbortSignal;
  /** Fulfilled at the first wish, with its reason in words. */
  readonly asked: Promise<string>;
  /** Called at a second wish, at least a second after the first: no more patience. */
  onImpatience(action: () => void): void;
  dispose(): void;
}

/** Begins to listen for SIGINT, SIGTERM, SIGHUP and the end of those who started us. */
export function listenForStop(): StopRequest {
  const controller = new AbortController();
  const impatient: (() => void)[] = [];
  let fulfil: (reason: string) => void = () => undefined;
  const asked = new Promise<string>((resolve) => {
    fulfil = resolve;
  });
  let firstAt: number | undefined;
  const ask = (reason: string) => {
    if (firstAt === undefined) {
      firstAt = Date.now();
      fulfil(reason);
      controller.abort();
    } else if (Date.now() - firstAt > SAME_REQUEST_MS) {
      for (const action of impatient) action();
    }
  };
  const signals = isHangUpIgnored() ? STOP_SIGNALS.slice(0, 2) : STOP_SIGNALS;
  const onSignal = (name: string) => ask(name);
  for (const name of signals) process.on(name, onSignal);

  // A SIGTERM to the outermost of those who started us may end there and leave us running, with nobody to stop us.
  const starters = findStarters();
  const poll = setInterval(() => {
    if (starters.every(isRunning)) return;
    clearInterval(poll);
    ask('the process that started this one has ended');
  }, STARTER_POLL_MS);
  return {
    signal: controller.signal,
    asked,
    onImpatience: (action) => impatient.push(action),
    dispose: () => {
      clearInterval(poll);
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

// Under nohup(1) the end of the terminal must not be ours; a handler of our own would undo what nohup did.
function isHangUpIgnored(): boolean {
  if (process.platform !== 'linux') return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
