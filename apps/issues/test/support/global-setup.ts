import { fileURLToPath } from 'node:url';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, startTestPostgres } from '@tessera/stack/postgres';
import { canRunRedmine, startRedmine } from '@tessera/trackers/redmine';

const prismaDir = fileURLToPath(new URL('../../prisma', import.meta.url));

/**
 * One real PostgreSQL for the run, with one migrated database that every test file copies, and where it is installed one
 * real Redmine.
 */
export default async function globalSetup(): Promise<void> {
  const [postgres, redmine] = await Promise.all([startTestPostgres(), startRedmineIfThere()]);
  const template = await createServiceDatabase(postgres.adminUrl, {
    database: 'issues_template',
    role: 'issues',
    password: 'issues',
  });
  await migrate({ connectionString: template, prismaDir });
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  process.env.TEST_REDMINE = JSON.stringify(redmine?.server ?? null);
  Object.assign(globalThis, { stopTestServers: () => Promise.all([postgres.stop(), redmine?.stop()]) });
}

// Without one jest.config.js leaves its tests out, and says so.
async function startRedmineIfThere() {
  return canRunRedmine() ? startRedmine() : undefined;
}
