import { manyDatabases, startTestPostgres } from '@tessera/stack/postgres';

/** Starts a PostgreSQL for the test run. */
export default async function globalSetup(): Promise<void> {
  const postgres = await startTestPostgres(manyDatabases);
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  Object.assign(globalThis, { testPostgres: postgres });
}
