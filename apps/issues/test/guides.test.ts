import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { issuesApi } from '@tessera/contracts';
import { environmentSchema } from '../src/config.ts';

const guide = (path: string) => readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8');
const cellsOf = (page: string) =>
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

it('the guide to endpoints has each operation once', () => {
  // Such as: `GET`, `PUT /api/v1/issues/{id}/`, `GET /api/v1/labels/`.
  const named = cellsOf(guide('issues/endpoints.md')).flatMap(([, cell = '']) =>
    [...cell.matchAll(/((?:`[A-Z]+`, )*)`([A-Z]+) (\/[^`]+)`/g)].flatMap(
      ([, methods = '', last = '', path = '']) =>
        [...codeIn(methods), last].map((method) => `${method} ${path}`),
    ),
  );
  const operations = issuesApi.operations.map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(named.sort()).toEqual(operations.sort());
});

describe('the tables of variables', () => {
  const rows = ['issues/environment.md', 'tracker-sync/set-up.md'].flatMap((path) =>
    cellsOf(guide(path)).map(([, names = '', defaults = '']) => ({ names: codeIn(names), defaults })),
  );
  const schemas = Object.entries(environmentSchema.shape);

  it('have each variable', () => {
    // A table of trackers has these two in its head.
    const named = [...rows.flatMap(({ names }) => names), 'TRACKER_URL', 'TRACKER_PROJECT'];
    expect(schemas.map(([name]) => name).filter((name) => !named.includes(name))).toEqual([]);
  });

  it('have the defaults of the service', () => {
    const shownOf = (name: string) => {
      const row = rows.find(({ names }) => names.includes(name));
      return row === undefined ? undefined : codeIn(row.defaults)[row.names.indexOf(name)];
    };
    const defaults = schemas.flatMap(([name, schema]) => {
      const value: unknown = schema.safeParse(undefined).data;
      const text = typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
      const isSimple = ['boolean', 'number', 'string'].includes(typeof value) && text !== '';
      return isSimple && shownOf(name) !== undefined ? [{ name, text }] : [];
    });
    expect(defaults.length).toBeGreaterThan(30);
    expect(defaults.filter(({ name, text }) => shownOf(name) !== text)).toEqual([]);
  });
});
