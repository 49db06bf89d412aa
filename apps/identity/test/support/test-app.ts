import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createLogger } from '@tessera/service-kit';
import { patientLimits } from '@tessera/stack';
import { cloneDatabase, withDatabase, withRole } from '@tessera/stack/postgres';
import { recordingLog, rememberSecret } from '@tessera/testing/leaks';
import { startTestServer, type TestServer } from '@tessera/testing/test-server';
import pg from 'pg';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createDependencies } from '../../src/dependencies.ts';
import { ownerRole, serviceRole } from './database-roles.ts';

export const serviceToken = rememberSecret('test-service-token-0123456789abcdef');
export const issuer = 'https://identity.test';

/** Returns the environment of a service under test: cheap hashes, no cleanup job, and a database
 * that may be slow; otherwise as in production. */
export function testEnvironment(databaseUrl: string, overrides: Record<string, string | undefined> = {}) {
  return {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    ...patientLimits,
    SERVICE_TOKEN: serviceToken,
    JWT_ISSUER: issuer,
    BCRYPT_COST: '4',
    HASH_QUEUE_TIMEOUT_MS: '60000',
    LOG_LEVEL: 'debug',
    JANITOR_INTERVAL_SECONDS: '0',
    ...overrides,
  };
}

/** Copies the migrated template for one test file and returns the URL with the role of the service. */
export async function createTestDatabase(): Promise<string> {
  const adminUrl = process.env.TEST_ADMIN_URL ?? '';
  const name = `identity_${randomBytes(6).toString('hex')}`;
  await cloneDatabase(adminUrl, 'identity_template', name, ownerRole.role, serviceRole.role);
  return withRole(withDatabase(adminUrl, name), serviceRole);
}

/** Returns the URL of the same database with the role of its owner. */
export function asOwner(databaseUrl: string): string {
  return withRole(databaseUrl, ownerRole);
}

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/**
 * Starts the service with the production composition root, behind a real HTTP server, and records its log. The service
 * signs with the shared test key; with `JWT_PRIVATE_KEY: undefined`, it generates a key.
 */
export async function startTestApp(overrides: Record<string, string | undefined> = {}, databaseUrl?: string) {
  const url = databaseUrl ?? (await createTestDatabase());
  const key = overrides.JWT_KEYS_DIR === undefined ? { JWT_PRIVATE_KEY: signingPem() } : {};
  const config = loadConfig(testEnvironment(url, { ...key, ...overrides }));
  const log = recordingLog();
  const logger = createLogger({ service: 'identity', level: config.logLevel, destination: log });
  const dependencies = await createDependencies(config, logger);
  const server = await startTestServer(createApp(dependencies), logger, issuesTokens);
  const client = new pg.Pool({ connectionString: asOwner(url), max: 2 });
  const close = async () => {
    await Promise.all([server.close(), dependencies.close(), client.end()]);
  };
  await assertAuthenticates(server).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    config,
    dependencies,
    listener: server.listener,
    databaseUrl: url,
    log,
    url: server.url,
    http: server.http,
    /** Runs a statement as the owner of the database. */
    sql: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,
    close,
  };
}

/** Fails the suite of a service that serves a request without a token or without a service token. */
export async function assertAuthenticates({ http }: Pick<TestServer, 'http'>): Promise<void> {
  const expected = { '/userinfo': 401, '/internal/audit-events': 403 };
  for (const [path, status] of Object.entries(expected)) {
    const response = await http.get(path);
    if (response.status !== status) throw new Error(`${path} must answer ${status}, not ${response.status}`);
  }
}

function issuesTokens(request: IncomingMessage, response: ServerResponse): boolean {
  const { path = '' } = request.operation ?? {};
  return response.statusCode === 200 && ['/token', '/token/refresh', '/oidc/token'].includes(path);
}

/** Returns the shared signing key from global-setup.ts, because the creation of an RSA key takes about 100 ms. */
export function signingPem(): string {
  return process.env.TEST_SIGNING_KEY ?? '';
}
