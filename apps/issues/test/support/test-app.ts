import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import {
  createLogger,
  errorHandler,
  ProblemError,
  refuseUnknownRoute,
  requestContext,
  securityHeaders,
} from '@tessera/service-kit';
import { cloneDatabase } from '@tessera/stack/postgres';
import express, { type RequestHandler } from 'express';
import pg from 'pg';
import supertest from 'supertest';
import { type Actor, setActor } from '../../src/authentication/actor.ts';
import { createDatabase, createListDatabase } from '../../src/database.ts';
import { type IssueWiring, issueRouters } from './issue-routers.ts';
import { MirrorOnlyResolver } from './mirror-only-resolver.ts';

export const publicBaseUrl = 'https://issues.test';

/** A copy of the migrated template, for one test file alone. */
export async function createTestDatabase(): Promise<string> {
  const adminUrl = process.env.TEST_ADMIN_URL ?? '';
  const name = `issues_${randomBytes(6).toString('hex')}`;
  await cloneDatabase(adminUrl, 'issues_template', name, 'issues');
  const url = new URL(adminUrl);
  url.username = 'issues';
  url.password = 'issues';
  url.pathname = `/${name}`;
  return url.href;
}

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/** The issue routes over a real database, behind the middleware of the real app; a header says who asks. */
export async function startTestApp(
  overrides: Partial<Pick<IssueWiring, 'listMax' | 'requirePrecondition' | 'keyPrefix' | 'tracking'>> = {},
  databaseUrl?: string,
) {
  const url = databaseUrl ?? (await createTestDatabase());
  const logger = createLogger({ service: 'issues', level: 'debug', destination: silence() });
  const config = { url, poolMax: 10, statementTimeoutMs: 5_000 };
  const main = createDatabase(config, logger);
  const lists = createListDatabase(config, logger);
  const client = new pg.Pool({ connectionString: url, max: 2 });
  const app = express();
  app.set('etag', false);
  const begin = requestContext(logger);
  app.use((request, response, next) => {
    begin(request, response);
    next();
  });
  app.use(securityHeaders({ hsts: false }));
  app.use('/api/v1', actorFromHeader);
  for (const router of issueRouters({
    logger,
    database: main.database,
    listDatabase: lists.database,
    people: new MirrorOnlyResolver(client),
    publicBaseUrl,
    keyPrefix: 'ISS',
    listMax: 100,
    requirePrecondition: false,
    ...overrides,
  })) {
    app.use(router);
  }
  app.use(refuseUnknownRoute(app));
  app.use(errorHandler({ logger }));
  return {
    app,
    databaseUrl: url,
    logger,
    database: main.database,
    http: supertest(app),
    /** State left behind, read past the service. */
    sql: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,
    close: async () => {
      await main.close();
      await lists.close();
      await client.end();
    },
  };
}

const actorFromHeader: RequestHandler = (request, response, next) => {
  const given = request.get('x-test-actor');
  if (given === undefined) {
    throw new ProblemError({ status: 401, code: 'invalid_token', detail: 'An access token is required.' });
  }
  const actor: Actor = JSON.parse(Buffer.from(given, 'base64url').toString());
  setActor(response, actor);
  next();
};

function silence(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
