import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls the condition until it is true or the time is over.
 * @param timeoutMs the limit in milliseconds
 * @returns whether the condition became true in time
 */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  intervalMs = 25,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() >= deadline) return false;
    await sleep(intervalMs);
  }
  return true;
}
