import { readFileSync } from 'node:fs';
import { isRunning } from './recorded-process.ts';
import { findStartingProcesses } from './starting-processes.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const STARTING_PROCESS_POLL_MS = 1_000;
// One Ctrl-C may arrive twice: from the terminal and from the package manager.
const SAME_REQUEST_MS = 1_000;

/** A request to stop, by a signal or by the end of the process that started this one. */
export interface StopRequest {
  readonly signal: AbortSignal;
  /** Resolves with the reason at the first request. */
  readonly requested: Promise<string>;
  /** Registers an action for a second request, at least a second after the first. */
  onSecondRequest(action: () => void): void;
  dispose(): void;
}

/** Listens for SIGINT, SIGTERM, SIGHUP and the end of the processes that started this one. */
export function listenForStop(): StopRequest {
  const controller = new AbortController();
  const secondRequestActions: (() => void)[] = [];
  let resolveRequested: (reason: string) => void = () => undefined;
  const requested = new Promise<string>((resolve) => {
    resolveRequested = resolve;
  });
  let firstAt: number | undefined;
  const requestStop = (reason: string) => {
    if (firstAt === undefined) {
      firstAt = Date.now();
      resolveRequested(reason);
      controller.abort();
    } else if (Date.now() - firstAt > SAME_REQUEST_MS) {
      for (const action of secondRequestActions) action();
    }
  };
  const signals = isHangUpIgnored() ? STOP_SIGNALS.slice(0, 2) : STOP_SIGNALS;
  const onSignal = (name: string) => requestStop(name);
  for (const name of signals) process.on(name, onSignal);

  // SIGTERM may end a package manager that started this process and leave this process running.
  const startingProcesses = findStartingProcesses();
  const poll = setInterval(() => {
    if (startingProcesses.every(isRunning)) return;
    clearInterval(poll);
    requestStop('the process that started this one has ended');
  }, STARTING_PROCESS_POLL_MS);
  return {
    signal: controller.signal,
    requested,
    onSecondRequest: (action) => secondRequestActions.push(action),
    dispose: () => {
      clearInterval(poll);
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

// nohup(1) ignores SIGHUP; a handler would undo that.
function isHangUpIgnored(): boolean {
  if (process.platform !== 'linux') return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
