import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type OptionValues, UsageError } from '@tessera/stack/command-line';

export interface BenchOptions {
  /** Rows to measure, by name or by the beginning of their names; undefined for all. */
  only: readonly string[] | undefined;
  rounds: number;
  rows: number;
  seconds: number;
  /** The path of a copy of the results. */
  json: string | undefined;
  footprintRequests: number;
  /** The version of Node for the bench and all servers that it starts; undefined for the current version. */
  node: string | undefined;
  /** The folder of another checkout, whose built services are measured, too. */
  against: string | undefined;
  /** Whether the services are built first. */
  build: boolean;
  /** Whether Redmine is measured if it is installed. */
  redmine: boolean;
  /** Whether other products are measured. */
  peers: boolean;
}

const small = { rows: 1_000, footprintRequests: 20_000 };

const largest = 10_000_000;

/** The default of `--rows`: the number of issues and of identities. */
export const defaultRows = small.rows;

const text = { type: 'string' } as const;

/** The options of the command line, besides `--help`. */
export const commandOptions = {
  only: text,
  rounds: text,
  rows: text,
  seconds: text,
  json: text,
  node: text,
  against: text,
  'footprint-requests': text,
  'no-build': { type: 'boolean', default: false },
  'no-redmine': { type: 'boolean', default: false },
  'no-peers': { type: 'boolean', default: false },
} as const;

/**
 * Checks the options of the command line and applies the defaults.
 * @param rowNamesFor the names that `--only` accepts for this number of rows
 * @throws UsageError
 */
export function readOptions(
  { only: listed, json, node, against, ...values }: OptionValues<typeof commandOptions>,
  rowNamesFor: (rows: number) => readonly string[],
): BenchOptions {
  const rows = whole('rows', values.rows, { min: small.rows, max: largest, default: small.rows });
  const only =
    listed === undefined
      ? undefined
      : readOnly(listed, { all: rowNamesFor(largest), here: rowNamesFor(rows) });
  if (json === '') throw new UsageError('--json wants the name of a file');
  if (node !== undefined && !/^\d+(\.\d+){0,2}$/.test(node)) {
    throw new UsageError(`--node must be a version such as 24 or 24.1.0, not "${node}"`);
  }
  return {
    only,
    rounds: whole('rounds', values.rounds, { min: 1, max: 100, default: 5 }),
    rows,
    seconds: number('seconds', values.seconds, { min: 0.5, max: 60, default: 3 }),
    json,
    footprintRequests: whole('footprint-requests', values['footprint-requests'], {
      min: 100,
      max: 100_000_000,
      default: only === undefined ? 1_000_000 : small.footprintRequests,
    }),
    node,
    against: against === undefined ? undefined : readCheckout(against),
    build: !values['no-build'],
    redmine: !values['no-redmine'],
    peers: !values['no-peers'],
  };
}

/** Whether a row is selected. `replicas` also selects `replicas-userinfo`. */
export function isSelected(name: string, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some((asked) => name === asked || name.startsWith(`${asked}-`));
}

function readOnly(listed: string, { all, here }: Record<'all' | 'here', readonly string[]>): string[] {
  const names = listed.split(',').map((name) => name.trim());
  const missingFrom = (rows: readonly string[]) =>
    names.filter((name) => !rows.some((row) => isSelected(row, [name]))).map((name) => `"${name}"`);
  const unknown = missingFrom(all);
  if (unknown.length > 0) {
    throw new UsageError(`--only: there is no row ${unknown.join(', ')}; there are ${all.join(', ')}`);
  }
  const tooFew = missingFrom(here);
  if (tooFew.length > 0) {
    throw new UsageError(`--only: ${tooFew.join(', ')} wants --rows above ${small.rows}`);
  }
  return names;
}

/** Returns the absolute path of a checkout whose services can be started. */
function readCheckout(folder: string): string {
  const root = resolve(folder);
  const has = (...files: string[]) =>
    ['identity', 'issues'].every((app) => files.every((file) => existsSync(join(root, 'apps', app, file))));
  const problem = (text: string) => new UsageError(`--against: ${text} ${root}`);
  if (folder === '' || !has('package.json')) throw problem('there is no checkout of Tessera in');
  if (!has('node_modules')) throw problem('dependencies are missing: run "npx pnpm@12 install" in');
  if (!has('dist/migrate.js', 'dist/server.js')) {
    throw problem('the services are not built: run "npx pnpm@12 build" in');
  }
  return root;
}

interface Bounds {
  min: number;
  max: number;
  default: number;
}

function whole(name: string, given: string | undefined, bounds: Bounds): number {
  const value = number(name, given, bounds);
  if (!Number.isInteger(value)) throw new UsageError(`--${name} must be a whole number`);
  return value;
}

function number(name: string, given: string | undefined, { min, max, ...otherwise }: Bounds): number {
  if (given === undefined) return otherwise.default;
  const value = given.trim() === '' ? Number.NaN : Number(given);
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a number from ${min} to ${max}, not "${given}"`);
}
