import { runCommandLine, UsageError } from './command-line.ts';
import { people } from './demo/issue-generator.ts';
import { demoPassword, fillThroughApi } from './demo/through-api.ts';
import { fillThroughDatabase } from './demo/through-database.ts';
import { spreadOverTwoWeeks } from './demo/two-weeks.ts';
import { readEnvironment } from './environment.ts';
import { findRunningServices } from './services/running-services.ts';

const help = `Usage: npx pnpm@12 demo [options]

Fills the running services with demo data: eight people, and issues with comments, links and history. In the
embedded database, they are spread over the last two weeks.

Options:
  --issues <n>           Number of issues, from 1 to 1000000. Default: 200.
  --direct               Write the issues straight into the embedded database, for measurements.
  --database-url <url>   Write the issues straight into this issues database.
  --data-dir <path>      The data folder of the running services. Default: TESSERA_DATA_DIR, else .data.
  -h, --help             Print this help.

Environment:
  TESSERA_DATA_DIR       Used when --data-dir is not given.
  SERVICE_TOKEN          identity's service token. Default: the one in the data folder.

Example:
  npx pnpm@12 demo --issues 50
`;

process.exitCode = await runCommandLine({
  name: 'demo',
  help,
  options: {
    issues: { type: 'string', default: '200' },
    direct: { type: 'boolean', default: false },
    'database-url': { type: 'string' },
    'data-dir': { type: 'string' },
  },
  run: async ({ issues, direct, 'database-url': databaseUrl, 'data-dir': dataDir }) => {
    const count = Number(issues);
    if (!Number.isInteger(count) || count < 1 || count > 1_000_000) {
      throw new UsageError('--issues must be a whole number from 1 to 1000000');
    }
    if (databaseUrl !== undefined && !/^postgres(?:ql)?:\/\/./.test(databaseUrl)) {
      throw new UsageError('--database-url must be a postgresql:// URL');
    }
    try {
      await fill(count, { direct, databaseUrl, dataDir });
      return 0;
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  },
});

interface Target {
  direct: boolean;
  databaseUrl: string | undefined;
  dataDir: string | undefined;
}

async function fill(count: number, { direct, databaseUrl, dataDir }: Target): Promise<void> {
  if (databaseUrl !== undefined) return fillThroughDatabase(databaseUrl, count);
  const environment = readEnvironment();
  const pair = findRunningServices(
    dataDir ?? environment.dataDir ?? '.data',
    environment.passedOn.SERVICE_TOKEN,
  );
  if (direct) {
    if (pair.issuesDatabaseUrl === undefined)
      throw new Error('There is no embedded database. Give --database-url.');
    return fillThroughDatabase(pair.issuesDatabaseUrl, count);
  }
  const keys = await fillThroughApi(pair, count);
  if (pair.issuesDatabaseUrl !== undefined) await spreadOverTwoWeeks(pair.issuesDatabaseUrl, keys);
  const names = Object.keys(people)
    .map((name) => `${name}@demo.example`)
    .join(', ');
  process.stdout.write(
    `Sign in at ${pair.issuesUrl}/sign-in as any of ${names} with "${demoPassword}"; ada is staff.\n`,
  );
}
