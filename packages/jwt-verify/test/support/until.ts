import { expect } from '@jest/globals';

/** Waits until a condition is true; fails after four minutes, a limit that only a hanging test reaches. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 240_000;
  while (!condition() && Date.now() < deadline) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  expect(condition()).toBe(true);
}
