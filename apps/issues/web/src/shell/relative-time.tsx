import { useSyncExternalStore } from 'react';
import { fullTime, shortTime } from '../messages.ts';

const tickMs = 30_000;
const listeners = new Set<() => void>();
let ticks = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function follow(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ticks += 1;
    for (const one of listeners) one();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A time relative to now, which goes on while the page is open. */
export function RelativeTime({ at, className, role }: { at: string; className?: string; role?: string }) {
  useSyncExternalStore(follow, () => ticks);
  return (
    <time role={role} className={className} dateTime={at} title={fullTime(at)}>
      {shortTime(at)}
    </time>
  );
}
