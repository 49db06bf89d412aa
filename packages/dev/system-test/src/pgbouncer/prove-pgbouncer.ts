import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { takeTour } from '@tessera/delivery/tour';
import { type Stack, searchPath, startStack, withVariables } from '@tessera/stack';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import { loadWithRestarts } from './load-with-restarts.ts';
import { PgBouncer } from './pgbouncer-process.ts';

const packageFolder = fileURLToPath(new URL('../..', import.meta.url));
const repository = fileURLToPath(new URL('../../../../..', import.meta.url));

interface ProofOptions {
  program: string;
  restarts: number;
}

/** Runs the system tests, the tour and a load through PgBouncer. @returns whether all passed */
export async function provePgBouncer({ program, restarts }: ProofOptions): Promise<boolean> {
  const postgres = await startTestPostgres();
  const pgBouncer = await PgBouncer.start(program, postgres.adminUrl);
  const problems: string[] = [];
  const step = async (name: string, work: () => Promise<string[]>) => {
    const found = await work().catch((error: unknown) => [String(error)]);
    problems.push(...found);
    process.stdout.write(`${name}: ${found.length === 0 ? 'passed' : found.join('\n  ')}\n`);
  };
  try {
    await step('system tests', () => runTests(postgres, pgBouncer));
    for (const mode of ['transaction', 'transaction-named']) {
      const stack = await startStack({
        replicas: { identity: 2, issues: 2 },
        behindOneAddress: true,
        pooler: pgBouncer.address,
        postgres: { ...postgres, stop: async () => undefined },
        environment: environmentOf(mode),
      });
      try {
        await step(`${mode}: parameters`, () => checkParameters(stack));
        await step(`${mode}: load`, () => loadWithRestarts(stack, pgBouncer, restarts));
        await step(`${mode}: tour`, () => runTour(stack));
        if (mode === 'transaction') await step('migrator', () => checkMigrator(stack, pgBouncer));
      } finally {
        await stack.stop();
      }
    }
  } finally {
    await pgBouncer.stop();
    await postgres.stop();
  }
  process.stdout.write(problems.length === 0 ? 'All passed.\n' : `${problems.length} problems.\n`);
  return problems.length === 0;
}

function environmentOf(mode: string) {
  const variables = { DATABASE_POOLER: mode, LOG_LEVEL: 'warn', DATABASE_STATEMENT_TIMEOUT_MS: '7000' };
  return { identity: variables, issues: variables };
}

async function runTests({ adminUrl }: TestPostgres, { address }: PgBouncer): Promise<string[]> {
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=@tessera/source', ...jest], {
    cwd: packageFolder,
    env: withVariables({ TEST_DATABASE_URL: adminUrl, TEST_POOLER: address }),
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  return code === 0 ? [] : [`the tests exited with ${code}`];
}

async function runTour(stack: Stack): Promise<string[]> {
  const { identity: identityUrl, issues: issuesUrl } = stack.urls;
  await takeTour({ identityUrl, issuesUrl, serviceToken: stack.serviceToken });
  return [];
}

// Readiness gives the role its timeouts, which the connections of PgBouncer then have.
async function checkParameters(stack: Stack): Promise<string[]> {
  for (const { url } of [...stack.identities, ...stack.issues]) await untilReady(url);
  const problems: string[] = [];
  for (const name of ['identity', 'issues'] as const) {
    const { rows } = await stack.sql(
      name,
      `SELECT setconfig FROM pg_db_role_setting WHERE setrole = $1::regrole
          AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [name],
    );
    const wanted = 'statement_timeout=7000,idle_in_transaction_session_timeout=10000';
    const found = String(rows[0]?.setconfig);
    if (found !== wanted) problems.push(`the role ${name} has ${found}`);
  }
  return problems;
}

async function untilReady(url: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const response = await fetch(`${url}/readyz`);
    if (response.status === 200) return;
    if (Date.now() > deadline) throw new Error(`${url} is not ready: ${await response.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function checkMigrator(stack: Stack, { address }: PgBouncer): Promise<string[]> {
  const url = new URL(stack.databases.issues.owner);
  url.host = address;
  const env = { PATH: searchPath, MIGRATION_DATABASE_URL: url.href, SERVICE_DATABASE_ROLE: 'issues' };
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      ['apps/issues/dist/migrate.js'],
      { cwd: repository, env },
      (error, _, output) => resolve({ code: error?.code, stderr: output }),
    );
  });
  const refused = code === 1 && stderr.includes('leads to a connection pooler');
  return refused ? [] : [`the migrator did not refuse PgBouncer: ${code} ${stderr}`];
}
