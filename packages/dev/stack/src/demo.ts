import { parseArgs } from 'node:util';
import { isAxiosError } from 'axios';
import { findRunningPair } from './demo/running-pair.ts';
import { people } from './demo/story.ts';
import { demoPassword, fillThroughApi } from './demo/through-api.ts';
import { fillThroughDatabase } from './demo/through-database.ts';
import { readEnvironment } from './environment.ts';

const usage = `Fills a running pair of services with demo data: people, issues, comments, links and history.

  npx pnpm@12 demo [options]

  --issues N          how many issues: 200 unless told, up to 1000000
  --direct            write the issues straight into the embedded database, for measurements
  --database-url URL  the same into another issues database
  --data-dir DIR      the data folder of the running pair (TESSERA_DATA_DIR, else .data)
  --help`;

async function main(): Promise<void> {
  const environment = readEnvironment();
  const { values } = parseArgs({
    options: {
      issues: { type: 'string', default: '200' },
      direct: { type: 'boolean', default: false },
      'database-url': { type: 'string' },
      'data-dir': { type: 'string', default: environment.dataDir ?? '.data' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return;
  }
  const count = Number(values.issues);
  if (!Number.isInteger(count) || count < 1 || count > 1_000_000) {
    throw new RangeError('--issues takes a whole number from 1 to 1000000');
  }
  if (values['database-url'] !== undefined) {
    await fillThroughDatabase(values['database-url'], count);
    return;
  }
  const pair = findRunningPair(values['data-dir'], environment.passedOn.SERVICE_TOKEN);
  if (values.direct) {
    if (pair.issuesDatabaseUrl === undefined)
      throw new Error('there is no embedded database: give --database-url');
    await fillThroughDatabase(pair.issuesDatabaseUrl, count);
    return;
  }
  await fillThroughApi(pair, count);
  const names = people.map((name) => `${name}@demo.example`).join(', ');
  console.log(`Sign in as any of ${names} with "${demoPassword}"; ada is staff.`);
}

try {
  await main();
} catch (error) {
  const detail = isAxiosError(error) ? (error.response?.data?.detail ?? error.code) : undefined;
  const reason = error instanceof Error ? error.message : String(error);
  console.error(detail === undefined ? reason : `${isAxiosError(error) ? error.config?.url : ''}: ${detail}`);
  process.exitCode = 1;
}
