import { describe, expect, it } from '@jest/globals';
import { generateIssue } from '../src/demo/issue-generator.ts';
import { randomNumbers } from '../src/random.ts';

describe('generateIssue', () => {
  it('generates the same issues for the same seed and different ones for another', () => {
    const invent = (seed: number) => generateIssue(randomNumbers(seed));
    expect(invent(1)).toEqual(invent(1));
    expect(invent(1)).not.toEqual(invent(2));
  });

  it('generates issues that the API accepts', () => {
    const random = randomNumbers(7);
    for (let count = 0; count < 500; count += 1) {
      const { title, description } = generateIssue(random);
      expect(title.length).toBeGreaterThan(5);
      expect(title.length).toBeLessThanOrEqual(255);
      expect(title).not.toMatch(/[\n\r]/);
      expect(description.length).toBeLessThanOrEqual(65_000);
    }
  });
});
