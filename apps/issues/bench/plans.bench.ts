// Measures the plan of each list with a million issues, in a temporary PostgreSQL: `pnpm bench:plans [count]`.
import { fileURLToPath } from 'node:url';
import { createLogger, readsOf } from '@tessera/service-kit';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, startTestPostgres } from '@tessera/stack/postgres';
import pg from 'pg';
import { createListDatabase } from '../src/database.ts';
import { IssuePresenter } from '../src/issue-core/issue.presenter.ts';
import { IssueUrls } from '../src/issue-core/issue-reference.ts';
import { IssueListRepository } from '../src/issue-list/issue-list.repository.ts';
import { IssueListService } from '../src/issue-list/issue-list.service.ts';
import { pageStatement } from '../src/issue-list/issue-list.sql.ts';
import { publicBaseUrl } from '../test/support/environment.ts';
import { fillWithIssues, syncedWith } from '../test/support/many-issues.ts';
import { explain, type PlanCase, planCases, readerCases } from '../test/support/plans.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const rounds = 30;
const parallel = 4;

const postgres = await startTestPostgres();
const url = await createServiceDatabase(postgres.adminUrl, {
  database: 'bench',
  role: 'bench',
  password: 'bench',
});
await migrate({ connectionString: url, prismaDir: fileURLToPath(new URL('../prisma', import.meta.url)) });
const client = new pg.Client({ connectionString: url });
await client.connect();
console.log(`inserting ${count} issues …`);
await fillWithIssues(client, count);

const logger = createLogger({ service: 'bench', level: 'error' });
const config = { url, poolMax: 2 * parallel, statementTimeoutMs: 5_000 };
const { database, close } = createListDatabase(config, logger);
const lists = new IssueListService({
  repository: new IssueListRepository(readsOf(database), 'ISS', syncedWith),
  presenter: new IssuePresenter({ urls: new IssueUrls({ publicBaseUrl, keyPrefix: 'ISS' }) }),
});

console.log(`${'list'.padEnd(36)}   plan ms  buffers  requests/s  index`);
let failures = 0;
for (const planCase of [...readerCases(), ...planCases(count)]) failures += await measure(planCase);
await close();
await client.end();
await postgres.stop();
process.exitCode = failures === 0 ? 0 : 1;

async function measure({ name, request, indexes, buffers }: PlanCase): Promise<number> {
  const plan = await explain(client, pageStatement(request, syncedWith, request.scope));
  const find = () => lists.find({ request, page: undefined, url: 'http://issues.test/' });
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(Array.from({ length: parallel }, find));
  }
  const perSecond = (rounds * parallel * 1000) / (performance.now() - startedAt);
  const used = plan.indexes.find((index) => indexes.includes(index));
  const isExpected = plan.tableScans === 0 && used !== undefined && plan.buffers <= buffers;
  const figures = [
    plan.milliseconds.toFixed(1).padStart(8),
    String(plan.buffers).padStart(7),
    perSecond.toFixed(0).padStart(10),
  ];
  console.log(
    `${name.padEnd(36)} ${figures.join('  ')}  ${used ?? plan.indexes.join(',')}${isExpected ? '' : '  UNEXPECTED PLAN'}`,
  );
  return isExpected ? 0 : 1;
}
