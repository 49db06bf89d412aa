import { readFileSync } from 'node:fs';
import { type OptionValues, runCommandLine, UsageError } from '@tessera/stack/command-line';
import { buildBothServices } from '@tessera/stack/turbo';
import { isShown } from './sizing/measurements.ts';
import { runSizing, type SizingOptions } from './sizing/run-sizing.ts';
import { sizingSection } from './sizing/sizing-report.ts';
import { latestFile, writePage, writeSizing } from './sizing/write-sizing.ts';

const help = `Usage: npx pnpm@12 sizing [options]

Measures the costs of the usual requests and writes the tables of docs/reference/sizing.md, with two proofs: the busiest hour of as
many users as this machine can serve, and the growth of databases in use. It takes about six minutes on two cores. A run
with the default sizes, whose proofs are within a third of the table, writes packages/dev/bench/results/sizing.json and
the table; any other run results/partial.sizing.json.

Options:
  --seconds <n>        Measurement of each request; three times as long for sign-ins. Default: 10.
  --mix-seconds <n>    Duration of the busiest hour. Default: 60.
  --issues <n>         Issues whose growth is measured. Default: 5000.
  --sessions <n>       Sessions whose growth is measured. Default: 500.
  --render             Only write the table again from results/sizing.json, such as after a change of the assumptions.
  --no-build           Measure the services as they were last built.
  -h, --help           Print this help.

Environment:
  TEST_DATABASE_URL    URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 0 when each proof is within a third of the table, 1 when one is not, 2 for an invalid command line.

Example:
  npx pnpm@12 sizing
`;

const text = { type: 'string' } as const;
const commandOptions = {
  seconds: text,
  'mix-seconds': text,
  issues: text,
  sessions: text,
  render: { type: 'boolean', default: false },
  'no-build': { type: 'boolean', default: false },
} as const;

process.exitCode = await runCommandLine({
  name: 'sizing',
  help,
  options: commandOptions,
  run: async (values) => {
    const options = readOptions(values);
    if (values.render) {
      writePage(JSON.parse(readFileSync(latestFile, 'utf8')));
      return 0;
    }
    const built = values['no-build'] ? 0 : await buildBothServices();
    if (built !== 0) return built;
    const results = await runSizing(options);
    const isShownByAll = results.proofs.every(isShown);
    const isDefault = Object.keys(values).every((name) => name === 'no-build' || name === 'render');
    writeSizing(results, isDefault && isShownByAll);
    process.stdout.write(`${sizingSection(results)}\n`);
    return isShownByAll ? 0 : 1;
  },
});

function readOptions(values: OptionValues<typeof commandOptions>): SizingOptions {
  const number = (name: keyof SizingOptions, given: string | undefined, otherwise: number, min = 1) => {
    const value = given === undefined ? otherwise : given.trim() === '' ? Number.NaN : Number(given);
    if (value >= min && value <= 1e6) return value;
    throw new UsageError(`--${name} must be a number from ${min} to 1000000, not "${given}"`);
  };
  return {
    seconds: number('seconds', values.seconds, 10, 0.5),
    'mix-seconds': number('mix-seconds', values['mix-seconds'], 60),
    issues: number('issues', values.issues, 5_000, 10),
    sessions: number('sessions', values.sessions, 500, 10),
  };
}
