import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isShell, parseCodeBlocks, shellBlock } from '../src/code-blocks.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

const runbookProofs = ['prove-kubernetes', 'runbooks', 'recovery', 'prove-docker'].map(
  (name) => `packages/dev/delivery/src/${name}.ts`,
);

// The documents with blocks to paste into a terminal. A test of CI runs each block; a proof runs it on the real engine too.
const documents: readonly { document: string; proofs?: readonly string[]; unproven?: readonly string[] }[] = [
  { document: 'README.md' },
  { document: 'CONTRIBUTING.md' },
  { document: 'docs/api-tour.md' },
  { document: 'docs/integrate.md' },
  { document: 'docs/keep-a-copy.md' },
  { document: 'docs/python-backend.md' },
  { document: 'docker/README.md', proofs: ['packages/dev/delivery/src/prove-docker.ts'] },
  {
    document: 'docs/operations/kubernetes.md',
    proofs: ['packages/dev/delivery/src/prove-kubernetes.ts'],
    // The production overlay has the hosts and databases of its owner.
    unproven: ['docs/operations/kubernetes.md: Deploy: 0'],
  },
  {
    document: 'docs/operations/runbooks.md',
    proofs: runbookProofs,
    // The system tests run it against services by the recipes.
    unproven: ['docs/operations/runbooks.md: Functions for stand-alone services: 0'],
  },
  {
    document: 'docs/operations/upgrade.md',
    proofs: runbookProofs,
    unproven: ['docs/operations/upgrade.md: With compose and stand-alone: 0'],
  },
  { document: 'docs/operations/rotate.md', proofs: runbookProofs },
  { document: 'docs/operations/backup.md', proofs: runbookProofs },
  { document: 'apps/identity/README.md' },
  { document: 'apps/issues/README.md' },
  { document: 'docs/issues/event-streams.md' },
  { document: 'docs/issues/attachments.md' },
  { document: 'docs/identity/applications.md' },
  { document: 'docs/identity/sign-in.md' },
  { document: 'docs/identity/sign-out.md' },
  { document: 'docs/identity/machines.md' },
];

/** The file, heading and number of each shell block that a source reads; without a number, all under the heading. */
function readBlocks(source: string): Set<string> {
  const calls = /\bshellBlocks?\(\s*'([^']+)',\s*'([^']+)'(?:,\s*(\d+))?,?\s*\)/g;
  return new Set(
    [...source.matchAll(calls)].map(([, file, heading, number = 'all']) => `${file}: ${heading}: ${number}`),
  );
}

/** The shell blocks of a document that the sources do not read. */
function unreadBlocks(document: string, markdown: string, sources: readonly string[]): string[] {
  const read = new Set(sources.flatMap((source) => [...readBlocks(source)]));
  const numbers = new Map<string, number>();
  return parseCodeBlocks(markdown)
    .filter(isShell)
    .map(({ heading }) => {
      const number = numbers.get(heading) ?? 0;
      numbers.set(heading, number + 1);
      return { id: `${document}: ${heading}: ${number}`, all: `${document}: ${heading}: all` };
    })
    .filter(({ id, all }) => !read.has(id) && !read.has(all))
    .map(({ id }) => id);
}

/** The sources under a folder of the repository. */
function sourcesUnder(folder: string): string[] {
  return readdirSync(join(rootDir, folder), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readRepositoryFile(`${folder}/${name}`));
}

// The tour, which tests and proofs share, reads its blocks in a source.
const tests = [
  ...['packages/dev/delivery/test', 'packages/dev/system-test/test'].flatMap(sourcesUnder),
  readRepositoryFile('packages/dev/delivery/src/tour.ts'),
];

describe.each(documents)('$document', ({ document, proofs, unproven = [] }) => {
  const markdown = readRepositoryFile(document);

  it('has no shell block that no test runs', () => {
    expect(unreadBlocks(document, markdown, tests)).toEqual([]);
  });

  it('names the language of each block', () => {
    expect(parseCodeBlocks(markdown).filter(({ language }) => language === '')).toEqual([]);
  });

  if (proofs !== undefined) {
    it('has no shell block that its proof does not run', () => {
      expect(unreadBlocks(document, markdown, proofs.map(readRepositoryFile))).toEqual(unproven);
    });
  }
});

describe('a shell block', () => {
  const markdown =
    '# A\n```sh\n# no heading\n```\n## B\n  ```ts\n  ```\n```sh\none\n```\n```console\ntwo\n```\n';

  it('belongs to the nearest heading, and is not read until a call names it', () => {
    const unread = (...sources: string[]) => unreadBlocks('x.md', markdown, sources);
    expect(unread()).toEqual(['x.md: A: 0', 'x.md: B: 0', 'x.md: B: 1']);
    expect(unread("shellBlock('x.md', 'B', 1)", "shellBlock('y.md', 'A', 0)")).toEqual([
      'x.md: A: 0',
      'x.md: B: 0',
    ]);
    expect(unread("shellBlocks('x.md', 'B')", "shellBlock(\n  'x.md',\n  'A',\n  0,\n)")).toEqual([]);
  });

  it('must exist to be read', () => {
    const readMissing = (heading: string, number: number) => () =>
      shellBlock('docs/api-tour.md', heading, number);
    expect(readMissing('Nothing', 0)).toThrow('docs/api-tour.md has no shell block under "Nothing".');
    expect(readMissing('A tour', 99)).toThrow('docs/api-tour.md has no shell block 99 under "A tour".');
  });
});
