import { createLogger } from '@tessera/service-kit';
import { recordingLog } from '@tessera/testing/leaks';
import { startTestServer, type TestServer } from '@tessera/testing/test-server';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createDependencies } from '../../src/dependencies.ts';
import { testEnvironment } from './environment.ts';
import { FakeIdentity } from './fake-identity.ts';
import type { IdentityProvider } from './people.ts';
import { createTestDatabase, openTestDatabase } from './test-database.ts';

/** The resources that an app shares with another. `startTestApp({}, app)` starts a second instance of `app`. */
interface Shared {
  /** Default: a new copy of the template. */
  databaseUrl?: string | undefined;
  /** Default: a fake identity service, which stops with the app. */
  identity?: IdentityProvider;
}

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/**
 * Starts the service with the production composition root, behind a real HTTP server. The cleanup job is disabled,
 * because its first run would start at a random time.
 */
export async function startTestApp(
  environment: Record<string, string> = {},
  { databaseUrl: url, identity }: Shared = {},
) {
  const [databaseUrl, people] = [
    url ?? (await createTestDatabase()),
    identity ?? (await FakeIdentity.start()),
  ];
  const config = loadConfig(
    testEnvironment(databaseUrl, people.url, {
      LOG_LEVEL: 'debug',
      JANITOR_INTERVAL_SECONDS: '0',
      ...environment,
    }),
  );
  const log: string[] = [];
  const logger = createLogger({ service: 'issues', level: config.logLevel, destination: recordingLog(log) });
  const dependencies = await createDependencies(config, logger);
  // A sign-out at identity shows it the ID token.
  const mayHoldTokens = ({ url: line = '' }: { url?: string | undefined }) =>
    line.startsWith('/app/oidc/sign-out');
  const server = await startTestServer(createApp(dependencies), logger, mayHoldTokens);
  const { database, sql, close: closeDatabase } = openTestDatabase(databaseUrl);
  const close = async () => {
    await Promise.all([server.close(), dependencies.close(), closeDatabase()]);
    if (identity === undefined) await people.stop();
  };
  await assertAuthenticates(server).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    dependencies,
    listener: server.listener,
    databaseUrl,
    identity: people,
    log,
    url: server.url,
    http: server.http,
    /** Separate connections for the test. */
    database,
    sql,
    close,
  };
}

/** Fails the suite of a service that serves a request without a token. */
export async function assertAuthenticates({ http }: Pick<TestServer, 'http'>): Promise<void> {
  const { status } = await http.get('/api/v1/issues/');
  if (status !== 401) throw new Error(`a request without a token must be answered with 401, not ${status}`);
}
