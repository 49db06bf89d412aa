import { parseArgs } from 'node:util';
import { growthRule } from './soak/flatness.ts';
import { soak } from './soak/soak-run.ts';

const { rss, heap, handles } = growthRule;
const usage = `Usage: pnpm soak [--minutes 10]

Two replicas of each service, built, behind a round-robin, under a mixed load: sign-ins, refreshes, userinfo,
lists, reads, issues, comments, status changes, wrong passwords, garbage. A line each 30 s, a table at the end.

Exit code 1 when an answer was not one that is expected, or when something grew from the first minute to the end
beyond: RSS × ${rss.factor} + ${rss.plus} MiB, heap after a collection × ${heap.factor} + ${heap.plus} MiB,
${handles.plus} handles or sockets, or more database connections than the pools have. Linux only.
`;

const { minutes, help } = readArguments();
if (help) {
  process.stdout.write(usage);
} else if (!(minutes > 0 && minutes <= 24 * 60)) {
  process.stderr.write(`--minutes must be a number above 0, and a day's at most.\n\n${usage}`);
  process.exitCode = 2;
} else {
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      interrupted = true;
    });
  }
  process.exitCode = (await soak(minutes, () => interrupted)) ? 0 : 1;
}

function readArguments(): { minutes: number; help: boolean } {
  try {
    const { values } = parseArgs({
      options: { minutes: { type: 'string', default: '10' }, help: { type: 'boolean', default: false } },
    });
    return { minutes: Number(values.minutes), help: values.help };
  } catch {
    return { minutes: Number.NaN, help: false };
  }
}
