import { runCommandLine } from '@tessera/stack/command-line';
import { buildBothServices } from '@tessera/stack/turbo';
import { isCurrentNode, rerunOnNode } from './node-version.ts';
import { type BenchOptions, commandOptions, readOptions } from './options.ts';
import { markdown } from './report/markdown.ts';
import { writeReport } from './report/write-report.ts';
import { rowNamesFor } from './rows/rows.ts';
import { runBench } from './run/bench-run.ts';

const help = `Usage: npx pnpm@12 bench [options]

Builds both services, measures them beside their peers and the limits of this machine, and prints a table. A whole run
takes about twenty minutes on two cores, a third of it for the million requests of the footprint. It writes
packages/dev/bench/results/latest.{json,md} and the table in docs/reference/benchmark.md; a run with --against writes
against.{json,md}, any other run partial.{json,md}.

Options:
  --only <names>             Measure only these rows, separated by commas. A name also selects the rows that start with
                             it and a hyphen. Default: all. The rows:
                             ${wrap(rowNamesFor(Number.POSITIVE_INFINITY))}
  --rounds <n>               Measurements of each contender; the table shows medians. Default: 5.
  --rows <n>                 Issues and identities, from 1000. Above 1000, endpoints are also compared
                             with themselves at 1000. Default: 1000.
  --seconds <n>              Duration of one measurement, after a warm-up. Default: 3.
  --json <file>              Also write the results to this file.
  --footprint-requests <n>   Requests between the two memory measurements of a service. Default: 1000000; with --only,
                             20000.
  --node <version>           Run everything on this version of Node, from the npm package \`node\`. Default: this one.
  --against <folder>         Also measure the built services of this checkout. Without --only, only the rows that compare
                             with them are measured.
  --no-build                 Measure the services as they were last built.
  --no-redmine               Leave out Redmine, which takes a minute to start.
  --no-peers                 Leave out every other product: measure Tessera, --against and the limits alone.
  -h, --help                 Print this help.

Environment:
  TEST_DATABASE_URL          URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 0 whether or not goals are met, 1 when a contender answered wrongly, 2 for an invalid command line.

Example:
  npx pnpm@12 bench --only userinfo,get-issue --rounds 3
`;

process.exitCode = await runCommandLine({
  name: 'bench',
  help,
  options: commandOptions,
  run: async (values) => {
    const options = readOptions(values, rowNamesFor);
    const { node } = options;
    return node === undefined || isCurrentNode(node) ? bench(options) : rerunOnNode(node);
  },
});

async function bench(options: BenchOptions): Promise<number> {
  const built = options.build ? await buildBothServices() : 0;
  if (built !== 0) return built;
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The second signal ends the process without cleaning up.
      if (interruption.signal.aborted) process.exit(130);
      process.stderr.write('\nstopping\n');
      interruption.abort();
    });
  }
  const report = await runBench(options, interruption.signal);
  if (interruption.signal.aborted) return 130;
  writeReport(report);
  process.stdout.write(markdown(report));
  return report.failures.length === 0 ? 0 : 1;
}

function wrap(names: readonly string[]): string {
  const lines = [''];
  for (const [index, name] of names.entries()) {
    const word = index === names.length - 1 ? name : `${name}, `;
    if (`${lines.at(-1)}${word}`.length > 90) lines.push('');
    lines[lines.length - 1] += word;
  }
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(29)}`);
}
