import { describe, expect, it } from '@jest/globals';
import { readTour } from '../src/tour.ts';

describe("README's tour", () => {
  it('is read whole: its commands, and what they print', () => {
    const { script, printed } = readTour();
    for (const part of ['/internal/identities', '/token', '/token/refresh', '/jwks', '/api/v1/issues'])
      expect(script).toContain(part);
    expect(printed).toEqual(expect.arrayContaining(['Bearer', 'IN_PROGRESS']));
  });

  it('leaves out what starts the product and what is no command', () => {
    expect(readTour().script).not.toMatch(/pnpm|import /);
  });

  it('is missed where there is none', () => {
    expect(() => readTour('# Tessera\n')).toThrow('README.md has no section "A tour".');
  });
});
