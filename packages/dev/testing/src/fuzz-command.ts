import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { runTurbo } from '@tessera/stack/turbo';

const help = `Usage: npx pnpm@12 fuzz [options]

Sends random requests to every operation of both services, and runs the random stories of tracker sync. Each run uses new
random values. A failure prints its seed.

Options:
  --runs <n>             Requests for each operation. Default: FUZZ_RUNS, else 1000.
  --seed <n>             Repeat the requests of a failure. Default: FUZZ_SEED, else random.
  -h, --help             Print this help.

Environment:
  FUZZ_RUNS, FUZZ_SEED   Used when the option is not given.
  SYNC_CONVERGENCE_RUNS  Stories of tracker sync. Default: 25.

Example:
  npx pnpm@12 fuzz --runs 5000 --seed 2078367399
`;

process.exitCode = await runCommandLine({
  name: 'fuzz',
  help,
  options: {
    runs: { type: 'string', default: process.env.FUZZ_RUNS || '1000' },
    seed: { type: 'string', default: process.env.FUZZ_SEED || 'random' },
  },
  run: async ({ runs, seed }) => {
    if (!/^[1-9]\d{0,8}$/.test(runs))
      throw new UsageError('--runs must be a whole number from 1 to 999999999');
    if (seed !== 'random' && !/^-?\d{1,10}$/.test(seed))
      throw new UsageError('--seed must be a whole number');
    return runTurbo(
      [
        ...['run', 'test', '--filter=@tessera/identity', '--filter=@tessera/issues'],
        ...['--concurrency=1', '--force', '--', 'test/fuzz.test', 'test/sync-convergence.test'],
      ],
      {
        FUZZ_RUNS: runs,
        FUZZ_SEED: seed,
        SYNC_CONVERGENCE_RUNS: process.env.SYNC_CONVERGENCE_RUNS || '25',
      },
    );
  },
});
