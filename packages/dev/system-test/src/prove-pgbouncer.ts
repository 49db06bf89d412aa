import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withVariables } from '@tessera/stack';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { canRunPgBouncer } from '@tessera/stack/postgres';
import { runTurbo } from '@tessera/stack/turbo';

const help = `Usage: npx pnpm@12 prove:pgbouncer [options]

Builds both services and runs the system tests with PgBouncer in transaction mode between them and PostgreSQL. One test
stops and kills PgBouncer under load. Afterwards, that test runs with DATABASE_POOLER=transaction-named.

Options:
  --rounds <n>   How often PgBouncer is stopped and killed under load. Default: 5.
  -h, --help     Print this help.

Environment:
  TEST_DATABASE_URL   URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 1 after a failure. Exit code 2 for an invalid command line.

Example:
  npx pnpm@12 prove:pgbouncer --rounds 10
`;

process.exitCode = await runCommandLine({
  name: 'prove:pgbouncer',
  help,
  options: { rounds: { type: 'string', default: '5' } },
  run: async ({ rounds }) => {
    if (!/^[1-9]\d{0,2}$/.test(rounds)) throw new UsageError('--rounds must be a whole number from 1 to 999');
    if (!canRunPgBouncer()) throw new UsageError('pgbouncer does not run: apt-get install pgbouncer');
    const built = await runTurbo(['run', 'build', '--output-logs=errors-only']);
    if (built !== 0) return built;
    const variables = { PGBOUNCER_ROUNDS: rounds, PGBOUNCER_REPLICAS: '2' };
    const whole = await runJest({ ...variables, TEST_POOLER: 'transaction' });
    // PgBouncer before 1.21 loses named statements. Only this test accepts the first responses, which are then 503.
    const tests = ['test/pgbouncer.proxies.test.ts'];
    const named = await runJest({ ...variables, TEST_POOLER: 'transaction-named' }, tests);
    return Math.max(whole, named);
  },
});

async function runJest(variables: Record<string, string>, tests: readonly string[] = []): Promise<number> {
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', ...tests];
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=@tessera/source', ...jest], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: withVariables(variables),
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
