const PARENT_POLL_MS = 1_000;
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

/** Begins to listen for SIGINT, SIGTERM, SIGHUP and the end of the parent process. */
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
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (name: string) => ask(name);
  for (const name of signals) process.on(name, onSignal);

  // `npx pnpm@12 start` puts npm, pnpm and a shell between the user and us: a SIGTERM to the outermost may stop there.
  const parent = process.ppid;
  const poll = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(poll);
    ask('the process that started this one has ended');
  }, PARENT_POLL_MS);
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
