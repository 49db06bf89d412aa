import { expect } from '@jest/globals';

/** Waits until a condition is true; fails after five seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition() && Date.now() < deadline) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  expect(condition()).toBe(true);
}
