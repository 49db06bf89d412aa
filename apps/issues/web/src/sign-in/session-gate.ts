/** Lets requests wait for a new sign-in after the session has ended. */
let waiting: { promise: Promise<void>; resolve: () => void } | undefined;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

/** Opens the sign-in dialog. @returns a promise that resolves after the sign-in */
export function signInAgain(): Promise<void> {
  if (waiting === undefined) {
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    waiting = { promise, resolve };
    notify();
  }
  return waiting.promise;
}

export function signedInAgain(): void {
  waiting?.resolve();
  waiting = undefined;
  notify();
}

export const isSignInNeeded = () => waiting !== undefined;

export function onGateChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Tells the other tabs of this browser that the session has ended. */
const channel = new BroadcastChannel('tessera-session');

export function announceSignOut(): void {
  channel.postMessage('signed-out');
}

channel.addEventListener('message', () => location.assign('/sign-in'));
