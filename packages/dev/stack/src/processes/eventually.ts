import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** A limit that only a hanging test reaches, not one on a slow machine. */
const limitMs = 240_000;

/**
 * Polls a result until it is as expected, and returns it.
 * @param isExpected by default, any result that is not falsy
 * @throws Error with the last result after four minutes
 */
export async function eventually<Result>(
  look: () => Result | Promise<Result>,
  isExpected: (seen: Result) => boolean = Boolean,
): Promise<Result> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const seen = await look();
    if (isExpected(seen)) return seen;
    if (performance.now() > deadline) throw new Error(`It never was as expected: ${inspect(seen)}`);
    await sleep(25);
  }
}
