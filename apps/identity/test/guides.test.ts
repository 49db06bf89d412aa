import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { identityApi } from '@tessera/contracts';
import { environmentSchema } from '../src/config.ts';

/** The cells of each row of a page's tables that starts with code. */
const rowsOf = (page: string) =>
  readFileSync(new URL(`../../../docs/identity/${page}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

it('the guide to endpoints has each operation once', () => {
  // Such as: `GET`, `POST /userinfo`; `GET /healthz`, `GET /readyz`. Queries are not part of the path.
  const named = rowsOf('endpoints.md').flatMap(([, cell = '']) =>
    [...cell.matchAll(/((?:`[A-Z]+`, )*)`([A-Z]+) (\/[^`?]+)[^`]*`/g)].flatMap(
      ([, methods = '', last = '', path = '']) =>
        [...codeIn(methods), last].map((method) => `${method} ${path}`),
    ),
  );
  const operations = identityApi.operations.map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(named.sort()).toEqual(operations.sort());
});

describe('the table of variables', () => {
  const rows = rowsOf('environment.md').map(([, names = '', defaults = '']) => ({
    names: codeIn(names),
    defaults: codeIn(defaults),
  }));
  const schemas = Object.entries(environmentSchema.shape);

  it('has each variable', () => {
    const named = rows.flatMap(({ names }) => names);
    expect(schemas.map(([name]) => name).filter((name) => !named.includes(name))).toEqual([]);
  });

  it('has the defaults of the service', () => {
    const shownOf = (name: string) => {
      const row = rows.find(({ names }) => names.includes(name));
      return row?.defaults[row.names.indexOf(name)];
    };
    const defaults = schemas.flatMap(([name, schema]) => {
      const value: unknown = schema.safeParse(undefined).data;
      const text = typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
      const isSimple = ['boolean', 'number', 'string'].includes(typeof value) && text !== '';
      return isSimple && shownOf(name) !== undefined ? [{ name, text }] : [];
    });
    expect(defaults.length).toBeGreaterThan(25);
    expect(defaults.filter(({ name, text }) => shownOf(name) !== text)).toEqual([]);
  });
});
