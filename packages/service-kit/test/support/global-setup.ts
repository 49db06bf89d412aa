import { startTestPostgres } from '@tessera/stack/postgres';

/** One real PostgreSQL for the run. */
export default async function globalSetup(): Promise<void> {
  const postgres = await startTestPostgres();
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  Object.assign(globalThis, { testPostgres: postgres });
}
