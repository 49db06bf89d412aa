import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { metricsOf } from '../src/reference/metrics.ts';
import { referenceFolder, referencePages } from '../src/reference/pages.ts';

describe('the generated reference', () => {
  it.each([...referencePages()])(
    'has docs/reference/%s as generated (`npx pnpm@12 run docs` writes it)',
    (name, text) => {
      expect(readFileSync(new URL(name, referenceFolder), 'utf8')).toBe(text);
    },
  );
});

describe('a metric in the reference', () => {
  it('has the text that is the nearest before its registration', () => {
    const source = `const help = 'One.'; metrics.gauge('one', help);
      const help = 'Two.'; metrics.counter('two', help, ['kind']);`;
    expect(metricsOf('a.ts', source)).toEqual([
      ['`one`', 'gauge', '', 'One.'],
      ['`two`', 'counter', '`kind`', 'Two.'],
    ]);
  });

  it.each(["metrics.gauge(name(), 'Help.')", "metrics.gauge('one', help)"])(
    'is never left out in silence: %s',
    (source) => {
      expect(() => metricsOf('a.ts', source)).toThrow('a.ts');
    },
  );
});
