import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createLogger } from '@tessera/service-kit';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, startTestPostgres } from '@tessera/stack/postgres';
import axios from 'axios';
import bcrypt from 'bcrypt';
import { createApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { createDependencies } from '../src/dependencies.ts';

// Checks that response times of POST /token do not reveal the reason of a refusal. Measures all branches in interleaved
// rounds, over HTTP and with a real database; their medians must lie within 15 % of each other.
const tolerance = 0.15;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    cost: { type: 'string', default: '10' },
    hashes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('pnpm --filter @tessera/identity bench:timing [--rounds 100] [--cost 10] [--hashes 9,8,4]');
  process.exit(0);
}

const serviceToken = 'bench-service-token-0123456789abcdef';
const password = 'the password of the bench';
const postgres = await startTestPostgres();
const databaseUrl = await createServiceDatabase(postgres.adminUrl, {
  database: 'bench',
  role: 'bench',
  password: 'bench',
});
await migrate({
  connectionString: databaseUrl,
  prismaDir: fileURLToPath(new URL('../prisma', import.meta.url)),
});
const dependencies = await createDependencies(
  loadConfig({
    NODE_ENV: 'development',
    DATABASE_URL: databaseUrl,
    SERVICE_TOKEN: serviceToken,
    BCRYPT_COST: values.cost,
    // The limits are enabled, but too high to be reached.
    SIGN_IN_PAIR_LIMIT: '1000000',
    SIGN_IN_EMAIL_LIMIT: '1000000',
    SIGN_IN_IP_LIMIT: '1000000',
  }),
  createLogger({ service: 'identity', level: 'silent' }),
);
const server = createServer(createApp(dependencies));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const http = axios.create({ baseURL: `http://127.0.0.1:${port}`, validateStatus: () => true, proxy: false });

const internal = { headers: { 'X-Service-Token': serviceToken } };
const create = async (body: object) =>
  (await http.post('/internal/identities', { password, ...body }, internal)).data.id;
await create({ email: 'known@example.com' });
// Accounts from before the cost was changed. A failed sign-in does not upgrade their hashes.
const cost = Number(values.cost);
const otherCosts =
  values.hashes?.split(',').map(Number) ?? [cost - 1, cost - 2, 4].filter((older) => older >= 4);
for (const other of otherCosts) {
  const id = await create({ email: `cost-${other}@example.com` });
  await dependencies.database.models.identity.update({
    where: { id },
    data: { passwordHash: await bcrypt.hash(password, other) },
  });
}
await create({ email: 'inactive@example.com', is_active: false });
await create({ email: 'sso@example.com', password: undefined, sso_provider: 'google', sso_id: '1' });
const deleted = await create({ email: 'deleted@example.com' });
await http.delete(`/internal/identities/${deleted}`, internal);

const branches: Record<string, { email: string; password: string }> = {
  'unknown e-mail': { email: 'unknown@example.com', password },
  'wrong password': { email: 'known@example.com', password: 'not the password' },
  ...Object.fromEntries(
    otherCosts.map((other) => [
      `wrong password, hash of cost ${other}`,
      { email: `cost-${other}@example.com`, password: 'not the password' },
    ]),
  ),
  'SSO only': { email: 'sso@example.com', password },
  inactive: { email: 'inactive@example.com', password },
  deleted: { email: 'deleted@example.com', password },
  'over 72 bytes': { email: 'known@example.com', password: password.repeat(10) },
};

const samples = new Map(Object.keys(branches).map((name) => [name, [] as number[]]));
const rounds = Number(values.rounds);
for (let round = -5; round < rounds; round += 1) {
  for (const [name, credentials] of Object.entries(branches)) {
    const startedAt = performance.now();
    const { status } = await http.post('/token', { grant_type: 'password', ...credentials });
    const elapsed = performance.now() - startedAt;
    if (status !== 401) throw new Error(`${name}: ${status}`);
    // Rounds below 0 are warm-up.
    if (round >= 0) samples.get(name)?.push(elapsed);
  }
  process.stderr.write(`\r${Math.max(0, round + 1)} of ${rounds} rounds`);
}
process.stderr.write('\n');

const rounded = (milliseconds = Number.NaN) => Number(milliseconds.toFixed(2));
const rows = [...samples].map(([branch, times]) => {
  const sorted = times.toSorted((a, b) => a - b);
  const percentile = (share: number) => rounded(sorted[Math.floor(sorted.length * share)]);
  return {
    branch,
    'mean ms': rounded(times.reduce((sum, time) => sum + time, 0) / times.length),
    'p10 ms': percentile(0.1),
    'median ms': percentile(0.5),
    'p90 ms': percentile(0.9),
    'p99 ms': percentile(0.99),
  };
});
console.table(rows);
const times = rows.map((row) => row['median ms']);
const spread = Math.max(...times) / Math.min(...times) - 1;
console.log(
  `bcrypt cost ${values.cost}, ${availableParallelism()} cores: spread ${(spread * 100).toFixed(1)} % (at most ${tolerance * 100} %)`,
);

server.closeAllConnections();
server.close();
await dependencies.close();
await postgres.stop();
process.exitCode = spread <= tolerance ? 0 : 1;
