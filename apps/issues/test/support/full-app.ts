import { createLogger } from '@tessera/service-kit';
import { recordingLog } from '@tessera/testing/leaks';
import { recordingAnswers } from '@tessera/testing/recorded-answers';
import pg from 'pg';
import supertest from 'supertest';
import { createListener } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createDatabase } from '../../src/database.ts';
import { createDependencies } from '../../src/dependencies.ts';
import { IdentityMirrorRepository } from '../../src/identity-mirror/identity-mirror.repository.ts';
import { serviceToken } from './identity-service.ts';
import { createTestDatabase } from './test-app.ts';

export type FullApp = Awaited<ReturnType<typeof startFullApp>>;

/**
 * The service as production wires it: real tokens, real mirror, real client. Without limits and without janitor, whose
 * first run comes when it will.
 */
export async function startFullApp(overrides: Record<string, string>, databaseUrl?: string) {
  const url = databaseUrl ?? (await createTestDatabase());
  const config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: url,
    SERVICE_TOKEN: serviceToken,
    PUBLIC_BASE_URL: 'https://issues.test',
    LOG_LEVEL: 'debug',
    RATE_LIMIT_READS_PER_MINUTE: '0',
    RATE_LIMIT_WRITES_PER_MINUTE: '0',
    RATE_LIMIT_SYNCS_PER_MINUTE: '0',
    JANITOR_INTERVAL_SECONDS: '0',
    ...overrides,
  });
  const log: string[] = [];
  const logger = createLogger({ service: 'issues', level: config.logLevel, destination: recordingLog(log) });
  const dependencies = await createDependencies(config, logger);
  const extra = createDatabase(config.database, logger);
  const client = new pg.Pool({ connectionString: url, max: 1 });
  const listener = recordingAnswers(createListener(dependencies));
  return {
    dependencies,
    listener,
    databaseUrl: url,
    log,
    http: supertest(listener),
    mirrorRepository: new IdentityMirrorRepository(extra.database),
    sql: async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows,
    close: async () => {
      await Promise.all([dependencies.close(), extra.close(), client.end()]);
    },
  };
}
