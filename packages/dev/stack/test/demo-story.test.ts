import { describe, expect, it } from '@jest/globals';
import { inventIssue, randomNumbers } from '../src/demo/story.ts';

describe('inventIssue', () => {
  it('makes up the same issues for the same seed, and others for another', () => {
    const invent = (seed: number) => inventIssue(randomNumbers(seed));
    expect(invent(1)).toEqual(invent(1));
    expect(invent(1)).not.toEqual(invent(2));
  });

  it('keeps to what the tracker takes', () => {
    const random = randomNumbers(7);
    for (let count = 0; count < 500; count += 1) {
      const { title, description } = inventIssue(random);
      expect(title.length).toBeGreaterThan(5);
      expect(title.length).toBeLessThanOrEqual(255);
      expect(title).not.toMatch(/[\n\r]/);
      expect(description.length).toBeLessThanOrEqual(65_000);
    }
  });
});
