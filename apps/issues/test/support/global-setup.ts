import { generateKeyPairSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, startTestPostgres } from '@tessera/stack/postgres';
import { canRunRedmine, startRedmine } from '@tessera/trackers/redmine';

const prismaDir = fileURLToPath(new URL('../../prisma', import.meta.url));

/**
 * Starts a PostgreSQL with a migrated database that every test file copies, starts a Redmine if it is installed, and
 * creates the key that signs all tokens of the run.
 */
export default async function globalSetup(): Promise<void> {
  const [postgres, redmine] = await Promise.all([prepareRun(), startRedmineIfThere()]);
  process.env.TEST_REDMINE = JSON.stringify(redmine?.server ?? null);
  Object.assign(globalThis, { stopTestServers: () => Promise.all([postgres.stop(), redmine?.stop()]) });
}

/** Starts PostgreSQL with the database that `createTestDatabase` copies, and creates the key that signs tokens. */
export async function prepareRun() {
  const postgres = await startTestPostgres();
  const template = await createServiceDatabase(postgres.adminUrl, {
    database: 'issues_template',
    role: 'issues',
    password: 'issues',
  });
  await migrate({ connectionString: template, prismaDir });
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  process.env.TEST_SIGNING_KEY = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey;
  return postgres;
}

// Without Redmine, jest.config.js excludes the tests that need it and prints a notice.
async function startRedmineIfThere() {
  return canRunRedmine() ? startRedmine() : undefined;
}
