import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { issuesApi } from '@tessera/contracts';

const folder = new URL('../../../docs/security/', import.meta.url);
const pageNamed = (name: string) => {
  const text = readFileSync(new URL(`${name}-issues.md`, folder), 'utf8');
  // The pages name a test as [name], and have its path at their end.
  const tests = new Map(
    [...text.matchAll(/^\[([^\]]+)\]: (\S+)$/gm)].map(([, label = '', path = '']) => [label, path]),
  );
  return { name, text, tests };
};
const pages = ['threat-model', 'availability', 'costs'].map(pageNamed);

/** The names of tests in a text: in brackets, neither a link nor at the beginning of a line, which has its path. */
const namesIn = (text: string) =>
  [...text.matchAll(/(?<!^)\[([\w-]+)\](?!\()/gm)].map(([, label = '']) => label);

const threats = pages.flatMap(({ text, tests }) => {
  const section = text.split(/^## /m).find((one) => one.startsWith('Threats\n')) ?? '';
  const items: readonly string[] = section.match(/^- .*(?:\n {2}.*)*/gm) ?? [];
  return items.map((item) => ({ item, isTested: namesIn(item).some((label) => tests.has(label)) }));
});

describe.each(pages)('the page $name', ({ text, tests }) => {
  it('has the path of each test that it names, and no other', () => {
    expect([...new Set(namesIn(text))].sort()).toEqual([...tests.keys()].sort());
  });

  it('names tests by their files, which exist', () => {
    const wrong = [...tests].filter(
      ([label, path]) =>
        !path.endsWith(`/${label}.test.ts`) || !existsSync(fileURLToPath(new URL(path, folder))),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the threat model', () => {
  it('has at least one test for every threat', () => {
    expect(threats.length).toBeGreaterThan(40);
    expect(threats.filter(({ isTested }) => !isTested).map(({ item }) => item)).toEqual([]);
  });

  it('has the costs of every operation', () => {
    const { text } = pageNamed('costs');
    const missing = issuesApi.operations.filter(({ id }) => !text.includes(`\`${id}\``));
    expect(missing.map(({ id }) => id)).toEqual([]);
  });

  it('is linked from the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    for (const { name } of pages) expect(readme).toContain(`(../../docs/security/${name}-issues.md)`);
  });
});
