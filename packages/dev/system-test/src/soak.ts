import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { buildBothServices } from '@tessera/stack/turbo';
import { growthRule } from './soak/growth.ts';

const { rss, heap, handles } = growthRule;
const help = `Usage: npx pnpm@12 soak [options]

Builds both services and puts two replicas of each, behind a round-robin, under a mixed load: sign-ins, refreshes,
userinfo, lists, reads, issues, comments, status changes, wrong passwords and invalid requests. Prints a line every 30 s
and a table at the end. Linux only.

Options:
  --minutes <n>   Duration, up to 1440. Default: 10.
  -h, --help      Print this help.

Environment:
  TEST_DATABASE_URL   URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 1 after an unexpected answer, or when a value exceeds its limit. The limits, compared with the first minute:
RSS × ${rss.factor} + ${rss.plus} MiB, heap after a collection × ${heap.factor} + ${heap.plus} MiB, ${handles.plus} more handles or sockets,
and as many database connections as the pools have. Exit code 2 for an invalid command line.

Example:
  npx pnpm@12 soak --minutes 60
`;

process.exitCode = await runCommandLine({
  name: 'soak',
  help,
  options: { minutes: { type: 'string', default: '10' } },
  run: async (values) => {
    const minutes = Number(values.minutes);
    if (!(minutes > 0 && minutes <= 24 * 60))
      throw new UsageError('--minutes must be a number above 0, up to 1440');
    const built = await buildBothServices();
    if (built !== 0) return built;
    const { soak } = await import('./soak/soak-run.ts');
    let interrupted = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        interrupted = true;
      });
    }
    return (await soak(minutes, () => interrupted)) ? 0 : 1;
  },
});
