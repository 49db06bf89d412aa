import { generateKeyPairSync } from 'node:crypto';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, manyDatabases, startTestPostgres, withRole } from '@tessera/stack/postgres';
import { prismaDir, tableRights } from '../../src/database.ts';
import { ownerRole, serviceRole } from './database-roles.ts';

/**
 * Starts a PostgreSQL with a migrated database that every test file copies, and creates the signing key of most tests.
 */
export default async function globalSetup(): Promise<void> {
  const postgres = await startTestPostgres(manyDatabases);
  const template = await createServiceDatabase(postgres.adminUrl, {
    database: 'identity_template',
    ...serviceRole,
    owner: ownerRole,
  });
  await migrate({
    connectionString: withRole(template, ownerRole),
    prismaDir,
    serviceRole: { name: serviceRole.role, tableRights },
  });
  process.env.TEST_ADMIN_URL = postgres.adminUrl;
  process.env.TEST_SIGNING_KEY = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey;
  Object.assign(globalThis, { testPostgres: postgres });
}
