import { isCurrentNode, rerunOnNode } from './node-version.ts';
import { type BenchOptions, OptionsError, readOptions } from './options.ts';
import { markdown } from './report/markdown.ts';
import { writeReport } from './report/write-report.ts';
import { rowNamesFor } from './rows/rows.ts';
import { runBench } from './run/bench-run.ts';

const usage = `Usage: pnpm bench [--only a,b] [--rounds 5] [--rows 1000] [--seconds 3] [--json file]
                  [--footprint-requests 1000000] [--node 24]

Measures both built services beside their peers and the limits of this machine, round by round, and prints a table.
A whole run takes about twenty minutes on two cores, a third of it for the million requests of the footprint.

  --only                these rows, or all whose names begin so: ${rowNamesFor(Number.POSITIVE_INFINITY).join(', ')}
  --rounds              how often everybody is measured; the table has medians
  --rows                issues and identities; above 1000 each path is also compared with itself at 1000
  --seconds             how long each measurement takes, after a warm-up
  --json                a further file for the results
  --footprint-requests  how many requests lie between the two looks at a service's memory
  --node                runs everything on this version of Node, which the npm package \`node\` brings

A whole run is kept in packages/dev/bench/results/latest.{json,md} and in the README; one with --only in partial.{json,md}.
Exit code 0 whether goals are met or not, 1 when a contender answered wrongly, 2 for options that make no sense.
`;

try {
  process.exitCode = await run(readOptions(process.argv.slice(2), rowNamesFor));
} catch (error) {
  if (!(error instanceof OptionsError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}

async function run(options: BenchOptions | 'help'): Promise<number> {
  if (options === 'help') {
    process.stdout.write(usage);
    return 0;
  }
  const { node } = options;
  return node === undefined || isCurrentNode(node) ? bench(options) : rerunOnNode(node);
}

async function bench(options: BenchOptions): Promise<number> {
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
  writeReport(report, options.json);
  process.stdout.write(markdown(report));
  return report.failures.length === 0 ? 0 : 1;
}
