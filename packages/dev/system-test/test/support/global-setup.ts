import { createTemplates } from '@tessera/stack';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';

declare global {
  var testPostgres: TestPostgres | undefined;
}

/** One PostgreSQL for all test files; each stack copies its databases from migrated ones. */
export default async function globalSetup(): Promise<void> {
  globalThis.testPostgres = await startTestPostgres();
  process.env.TEST_DATABASE_URL = globalThis.testPostgres.adminUrl;
  process.env.TEST_DATABASE_TEMPLATES = await createTemplates(globalThis.testPostgres);
}
