import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseOptions, UsageError } from '@tessera/stack/command-line';
import { commandOptions, isSelected, readOptions } from '../src/options.ts';

const rowNames = ['token', 'jwks', 'replicas-userinfo', 'replicas-get-issue', 'footprint'];
const read = (...args: string[]) =>
  readOptions(parseOptions(commandOptions, args), (rows) =>
    rows > 1_000 ? [...rowNames, 'scale-token'] : rowNames,
  );

describe('options of the bench', () => {
  it('have defaults', () => {
    expect(read()).toEqual({
      only: undefined,
      rounds: 5,
      rows: 1_000,
      seconds: 3,
      json: undefined,
      footprintRequests: 1_000_000,
      node: undefined,
      against: undefined,
      build: true,
      redmine: true,
      peers: true,
    });
  });

  it('accept a major or an exact version of Node', () => {
    expect(read('--node', '24')).toMatchObject({ node: '24' });
    expect(read('--node', '24.1.0')).toMatchObject({ node: '24.1.0' });
  });

  it('select rows by their names or by the first words of their names', () => {
    expect(read('--only', 'jwks, replicas')).toMatchObject({ only: ['jwks', 'replicas'] });
    expect(isSelected('replicas-userinfo', ['replicas'])).toBe(true);
    expect(isSelected('replicasuserinfo', ['replicas'])).toBe(false);
    expect(isSelected('token', ['jwks', 'replicas'])).toBe(false);
    expect(isSelected('token', undefined)).toBe(true);
  });

  it('accept rows that need many issues only with --rows', () => {
    expect(read('--only', 'scale', '--rows', '5000')).toMatchObject({ only: ['scale'], rows: 5_000 });
    expect(() => read('--only', 'scale')).toThrow('"scale" wants --rows above 1000');
  });

  it('have a lower default for --footprint-requests with --only', () => {
    expect(read('--only', 'footprint')).toMatchObject({ footprintRequests: 20_000 });
    expect(read('--only', 'footprint', '--footprint-requests', '500')).toMatchObject({
      footprintRequests: 500,
    });
  });

  it.each([
    [['--only', 'jwk'], 'there is no row "jwk"'],
    [['--only', ''], '--only'],
    [['--only', 'jwks,,token'], '--only'],
    [['--rounds', '0'], '--rounds'],
    [['--rounds', '2.5'], '--rounds'],
    [['--rounds', ''], '--rounds'],
    [['--rows', '999'], '--rows'],
    [['--rows', '1e9'], '--rows'],
    [['--seconds', 'NaN'], '--seconds'],
    [['--seconds', '-1'], '--seconds'],
    [['--json', ''], '--json'],
    [['--node', ''], '--node'],
    [['--node', 'latest'], '--node'],
    [['--node', '24 --eval'], '--node'],
    [['--footprint-requests', '1'], '--footprint-requests'],
    [['--fast'], '--fast'],
    [['jwks'], 'jwks'],
  ])('reject %j with the reason', (args, message) => {
    expect(() => read(...args)).toThrow(UsageError);
    expect(() => read(...args)).toThrow(message);
  });
});

describe('--against', () => {
  let checkout: string;
  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), 'bench-checkout-'));
  });
  afterEach(() => rmSync(checkout, { recursive: true }));

  const add = (path: string) => {
    for (const app of ['identity', 'issues']) {
      const file = join(checkout, 'apps', app, path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, '');
    }
  };

  it('reports the first missing part of a checkout', () => {
    expect(() => read('--against', '')).toThrow('--against: there is no checkout');
    expect(() => read('--against', checkout)).toThrow(`there is no checkout of Tessera in ${checkout}`);
    add('package.json');
    expect(() => read('--against', checkout)).toThrow(`run "npx pnpm@12 install" in ${checkout}`);
    add('node_modules/.modules.yaml');
    expect(() => read('--against', checkout)).toThrow(`run "npx pnpm@12 build" in ${checkout}`);
    add('dist/migrate.js');
    expect(() => read('--against', checkout)).toThrow(`run "npx pnpm@12 build" in ${checkout}`);
    add('dist/server.js');
    expect(read('--against', checkout)).toMatchObject({ against: checkout });
  });
});
