import { existsSync } from 'node:fs';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { buildBothServices } from '@tessera/stack/turbo';

const help = `Usage: npx pnpm@12 pgbouncer [options]

Builds both services and runs them behind PgBouncer in transaction mode: all system tests; then, each with two replicas,
the README's tour, and a load during which PgBouncer is killed and started again. Fails if an acknowledged change is missing, or
if a response is neither a success nor 503. The migrator must refuse PgBouncer.

Options:
  --program <path>   PgBouncer. Default: /usr/sbin/pgbouncer (apt-get install pgbouncer).
  --restarts <n>     Restarts of PgBouncer under load. Default: 3.
  -h, --help         Print this help.

Environment:
  TEST_DATABASE_URL   URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 1 after a failure. Exit code 2 for an invalid command line.

Example:
  npx pnpm@12 pgbouncer --restarts 10
`;

process.exitCode = await runCommandLine({
  name: 'pgbouncer',
  help,
  options: {
    program: { type: 'string', default: '/usr/sbin/pgbouncer' },
    restarts: { type: 'string', default: '3' },
  },
  run: async ({ program, restarts }) => {
    if (!/^[1-9]\d{0,2}$/.test(restarts))
      throw new UsageError('--restarts must be a whole number from 1 to 999');
    if (!existsSync(program)) throw new UsageError(`${program} does not exist: apt-get install pgbouncer`);
    const built = await buildBothServices();
    if (built !== 0) return built;
    const { provePgBouncer } = await import('./pgbouncer/prove-pgbouncer.ts');
    return (await provePgBouncer({ program, restarts: Number(restarts) })) ? 0 : 1;
  },
});
