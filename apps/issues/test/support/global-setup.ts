import { fileURLToPath } from 'node:url';
import { createServiceDatabase, startTestPostgres } from '@tessera/dev-stack/postgres';
import { migrate } from '@tessera/service-kit/migrate';

const prismaDir = fileURLToPath(new URL('../../prisma', import.meta.url));

/** One real PostgreSQL for the run, and one migrated database that every test file copies. */
export default async function globalSetup(): Promise<void> {
  const postgres = await startTestPostgres();
  const template = await createServiceDatabase(postgres.adminUrl, {
    database: 'issues_template',
    role: 'issues',
    password: 'issues',
  });
  await migrate({ connectionString: template, prismaDir });
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  Object.assign(globalThis, { testPostgres: postgres });
}
