import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { makeChart } from '../src/helm/chart.ts';
import { mergeVariants } from '../src/helm/merge-variants.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

it('the Helm chart is generated from the manifests: "pnpm chart" changes nothing', () => {
  const folder = join(rootDir, 'k8s/helm');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const committed = files.map((file) => [file, readRepositoryFile(join('k8s/helm', file))] as const);
  expect(Object.fromEntries(committed)).toEqual(Object.fromEntries(makeChart()));
});

it('mergeVariants refuses two switches that remove the same line', () => {
  const variants = ['x', 'y'].map((value) => ({ value, lines: ['a'] }));
  expect(() => mergeVariants(['a', 'b'], variants)).toThrow('y and x remove the line b');
});
