import { generateKeyPairSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, manyDatabases, startTestPostgres } from '@tessera/stack/postgres';
import { canRunRedmine, startRedmine } from '@tessera/trackers/redmine';
import { templateOf } from './test-database.ts';

const prismaDirs = {
  issues: fileURLToPath(new URL('../../prisma', import.meta.url)),
  identity: fileURLToPath(new URL('../../../identity/prisma', import.meta.url)),
};

/**
 * Starts a PostgreSQL with a migrated database of each service that test files copy, starts a Redmine if it is installed,
 * and creates the key that signs all tokens of the run.
 */
export default async function globalSetup(): Promise<void> {
  const [postgres, redmine] = await Promise.all([prepareRun(), startRedmineIfThere()]);
  process.env.TEST_REDMINE = JSON.stringify(redmine?.server ?? null);
  Object.assign(globalThis, { stopTestServers: () => Promise.all([postgres.stop(), redmine?.stop()]) });
}

/** Starts PostgreSQL with the databases that `createTestDatabase` copies, and creates the key that signs tokens. */
export async function prepareRun() {
  const postgres = await startTestPostgres(manyDatabases);
  for (const role of ['issues', 'identity'] as const) {
    const service = { database: templateOf(role), role, password: role };
    const connectionString = await createServiceDatabase(postgres.adminUrl, service);
    await migrate({ connectionString, prismaDir: prismaDirs[role] });
  }
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  createSigningKey();
  return postgres;
}

/** Creates the key that signs the tokens of `FakeIdentity`. */
export function createSigningKey(): void {
  process.env.TEST_SIGNING_KEY = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey;
}

// Without Redmine, jest.config.js excludes the tests that need it and prints a notice.
async function startRedmineIfThere() {
  return canRunRedmine() ? startRedmine() : undefined;
}
