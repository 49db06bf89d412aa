import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';

declare global {
  var testPostgres: TestPostgres | undefined;
}

/** One PostgreSQL for all test files; each stack creates its own databases. */
export default async function globalSetup(): Promise<void> {
  globalThis.testPostgres = await startTestPostgres();
  process.env.TEST_DATABASE_URL = globalThis.testPostgres.adminUrl;
}
