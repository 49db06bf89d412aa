import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { identityApi } from '@tessera/contracts';

const page = new URL('../THREAT-MODEL.md', import.meta.url);
const text = readFileSync(page, 'utf8');
const links = [...text.matchAll(/\]\(([^)#]+)(?:#([^)]+))?\)/g)].map(([, path = '', anchor]) => ({
  path,
  anchor,
}));
const fileOf = (path: string) => fileURLToPath(new URL(path, page));

const threats = text
  .slice(text.indexOf('## Threats'), text.indexOf('## Accepted risks'))
  .split('\n')
  .filter((line) => /^\| (?!threat |-)/.test(line));

describe('the threat model', () => {
  it('links to existing tests and pages', () => {
    expect(links.filter(({ path }) => !existsSync(fileOf(path)))).toEqual([]);
  });

  it('links to existing sections', () => {
    const missing = links.filter(({ path, anchor }) => {
      const headings = readFileSync(fileOf(path), 'utf8').match(/^#+ .+$/gm) ?? [];
      const anchors = headings.map((heading) =>
        heading.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-'),
      );
      return anchor !== undefined && !anchors.includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  it('labels each link to a test with the name of its file', () => {
    for (const [, name, file] of text.matchAll(/\[([^\]]+)\]\([^)]*?([\w-]+)\.test\.ts\)/g)) {
      expect(name).toBe(file);
    }
  });

  it('has at least one test for every threat', () => {
    expect(threats.length).toBeGreaterThan(30);
    expect(threats.filter((line) => !line.includes('.test.ts)'))).toEqual([]);
  });

  it('lists the resources of every operation', () => {
    const resources = text.slice(text.indexOf('## Resources'), text.indexOf('## Threats'));
    const missing = identityApi.operations.filter(({ id }) => !resources.includes(`\`${id}\``));
    expect(missing.map(({ id }) => id)).toEqual([]);
  });

  it('is linked from the README', () => {
    expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain('(THREAT-MODEL.md)');
  });
});
