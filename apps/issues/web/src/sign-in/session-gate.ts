/** The reason for which requests wait: the session has ended, or it is that of another person. */
type Wait = 'ended' | 'other';

let person: string | undefined;
let waiting: { why: Wait; promise: Promise<void>; resolve: () => void } | undefined;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

/** The id of the person of this document. Its first session decides for as long as it lives. */
export const personOfPage = () => person;

export function belongTo(id: string): void {
  person ??= id;
}

/** Opens the sign-in dialog, also in the other tabs of the person. @returns a promise that resolves after the person of the page has signed in */
export function signInAgain(why: Wait, isFirst = true): Promise<void> {
  if (waiting === undefined) {
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    waiting = { why, promise, resolve };
    // The tabs of a person have one stream of events, so one tab is told.
    if (why === 'ended' && isFirst) channel.postMessage({ ended: person });
  }
  // The last response says how the session is now.
  waiting.why = why;
  notify();
  return waiting.promise;
}

export function signedInAgain(): void {
  waiting?.resolve();
  waiting = undefined;
  notify();
}

export const reasonToSignIn = () => waiting?.why;

export function onGateChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const signedOut = 'signed-out';
/** Tells the other tabs of this browser whose session begins, and that one has ended. */
const channel = new BroadcastChannel('tessera-session');

export function announceSignIn(id: string): void {
  channel.postMessage(id);
}

export function announceSignOut(): void {
  channel.postMessage(signedOut);
}

channel.addEventListener('message', ({ data }: MessageEvent<string | { ended: string }>) => {
  if (typeof data === 'object') {
    if (data.ended === person) void signInAgain('ended', false);
  } else if (data === signedOut) location.assign('/sign-in');
  else if (data === person) signedInAgain();
  else if (person !== undefined) void signInAgain('other');
});
