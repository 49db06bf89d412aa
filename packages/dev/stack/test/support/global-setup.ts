import { createTemplates } from '../../src/index.ts';
import { manyDatabases, startTestPostgres, type TestPostgres } from '../../src/postgres.ts';

declare global {
  var testPostgres: TestPostgres | undefined;
}

/**
 * For the packages whose test files start stacks: one PostgreSQL for all of them. Each stack copies its databases from migrated
 * ones.
 */
export default async function globalSetup(): Promise<void> {
  globalThis.testPostgres = await startTestPostgres(manyDatabases);
  process.env.TEST_DATABASE_URL = globalThis.testPostgres.adminUrl;
  process.env.TEST_DATABASE_TEMPLATES = await createTemplates(globalThis.testPostgres);
}
