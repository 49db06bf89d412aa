import { describe, expect, it } from '@jest/globals';
import { createIssueSchema, linkInputSchema, linkMetadataMaxBytes } from '../src/index.ts';

function problemsOf(metadata: unknown): string[] {
  const result = linkInputSchema.safeParse({ type: 'invoice', ref: '1', metadata });
  return result.error?.issues.map(({ message }) => message) ?? [];
}

const tooLarge = ['must be at most 4096 bytes as JSON without exponents'];
const notStorable = ['must be storable text at most 8 levels deep'];

describe('the metadata of a link', () => {
  it.each([
    ['a string', (text: string) => ({ a: text })],
    ['nested values', (text: string) => ({ é: [{}, [], [1, -2.5, null, true], { b: 'c' }], d: text })],
    ['escapes', (text: string) => ({ '"': '\n\u0001\\€', d: text })],
  ])('has at most 4096 bytes as JSON: %s', (_what, build) => {
    const length = linkMetadataMaxBytes - Buffer.byteLength(JSON.stringify(build('')));
    expect(problemsOf(build('x'.repeat(length)))).toEqual([]);
    expect(problemsOf(build('x'.repeat(length + 1)))).toEqual(tooLarge);
  });

  // PostgreSQL writes numbers without an exponent.
  it.each([5e-324, -5e-324, 1.5e-300, 1e300, 1.7976931348623157e308])('counts the digits of %d', (number) => {
    expect(problemsOf({ a: Array(10).fill(number) })).toEqual([]);
    expect(problemsOf({ a: Array(14).fill(number) })).toEqual(tooLarge);
  });

  it.each([
    ['U+0000 in a key', { 'a\u0000': 1 }],
    ['an unpaired surrogate', { a: '\ud800' }],
    ['nine levels', { a: [[[[[[[[1]]]]]]]] }],
  ])('is refused with %s', (_what, metadata) => {
    expect(problemsOf(metadata)).toEqual(notStorable);
  });

  it.each([
    ['a number that JSON cannot write', '{"a": [1e999]}', 'must have numbers of at most 1.8e308'],
    ['a member that JavaScript drops', '{"a": {"__proto__": 1}}', 'must not have a member __proto__'],
  ])('is refused with %s', (_what, json, message) => {
    expect(problemsOf(JSON.parse(json))).toEqual([message]);
  });

  it('is read only up to the limit', () => {
    let read = 0;
    const member = { enumerable: true, get: () => ++read };
    const wide = Object.defineProperties(
      {},
      Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [i, member])),
    );
    expect(problemsOf({ a: wide })).toEqual(tooLarge);
    expect(read).toBeLessThan(linkMetadataMaxBytes / 4);
    read = 0;
    const huge = Array.from({ length: 100_000 }, () => Object.defineProperty({}, 'a', member));
    expect(problemsOf({ a: huge })).toEqual(tooLarge);
    expect(read).toBe(0);
  });
});

it('parses at most one link above the maximum', () => {
  let read = 0;
  const link = Object.defineProperty({ ref: '1' }, 'type', { enumerable: true, get: () => `x${++read}` });
  const { error } = createIssueSchema.safeParse({ title: 'a', links: Array(10_000).fill(link) });
  expect(error?.issues.map(({ message }) => message)).toContain('must be at most 50 links');
  expect(read).toBeLessThan(1_000);
});
