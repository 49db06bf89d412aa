import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemSchema, type TokenResponse } from '@tessera/contracts';
import { createDatabase, createLogger } from '@tessera/service-kit';
import { httpClient, type Stack, searchPath, startStack, testPooler } from '@tessera/stack';
import { PgBouncer } from '@tessera/stack/postgres';
import pg from 'pg';
import { issuesClient, password, reader, signUp, writer } from './support/clients.ts';
import { expectCompleteIssues, expectCompleteSessions, liveSuccessorsOf } from './support/completeness.ts';
import { type Client, Load, type Outcome, pause, tally } from './support/load.ts';

const rounds = Number(process.env.PGBOUNCER_ROUNDS ?? 1);
const replicas = Number(process.env.PGBOUNCER_REPLICAS ?? 1);
const repository = new URL('../../../../', import.meta.url);
const names = ['identity', 'issues'] as const;

describe('both services through PgBouncer', () => {
  const load = new Load();
  const created = new Set<string>();
  /** The ids of acknowledged issues and comments that were sent once, and the refresh tokens that the sessions hold. */
  const [issues, comments, held] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let stack: Stack;
  let pgBouncer: PgBouncer;

  beforeAll(async () => {
    const variables = { LOG_LEVEL: 'warn', DATABASE_STATEMENT_TIMEOUT_MS: '7000' };
    stack = await startStack({
      replicas: { identity: replicas, issues: replicas },
      behindOneAddress: replicas > 1,
      pooler: testPooler() === 'off' ? 'transaction' : testPooler(),
      environment: { identity: variables, issues: variables },
    });
    if (stack.pgBouncer === undefined) throw new Error('There is no PgBouncer.');
    pgBouncer = stack.pgBouncer;
    const tokens = await signUp(stack, 'ann');
    for (let index = 0; index < 2; index += 1) {
      load.add(writer(stack, tokens, created));
      load.add(writerOnce(tokens));
      load.add(session());
    }
    load.add(reader(stack, tokens));
    await load.everyClient(3, isSuccess);
  });
  afterAll(async () => {
    await load.stop().catch(() => undefined);
    expect(new Set(await stack.stop())).toEqual(new Set([0]));
  });

  it.each(names)('%s has its timeouts, without parameters of the connection', async (name) => {
    const client = new pg.Client(pgBouncer.urlOf(stack.databases[name].service));
    await client.connect();
    const { rows } = await client.query(
      "SELECT setting FROM pg_settings WHERE name ~ '^(statement|idle_in_transaction_session)_timeout$' ORDER BY name",
    );
    await client.end();
    expect(rows.map(({ setting }) => setting)).toEqual(['10000', '7000']);
  });

  it('a service is not ready if the pooler ends each transaction after a statement', async () => {
    const { service: url } = stack.databases.identity;
    const { username, password: secret } = new URL(url);
    const roles = [{ role: username, password: decodeURIComponent(secret) }];
    const pooler = await PgBouncer.start(url, roles, 'pool_mode = statement\n');
    const { readiness, close } = createDatabase({
      config: { url: pooler.urlOf(url), poolMax: 1, statementTimeoutMs: 7000, throughPooler: true },
      applicationName: 'statement-mode',
      logger: createLogger({ service: 'statement-mode', level: 'silent' }),
      prismaDir: new URL('apps/identity/prisma', repository).pathname,
      createClient: () => undefined,
    });
    await expect(readiness[0]?.check()).rejects.toThrow('transaction blocks not allowed');
    await close();
    await pooler.stop();
  });

  it.each(Array.from({ length: rounds }, () => ['SIGTERM', 'SIGKILL'] as const).flat())(
    'a %s of PgBouncer causes 503 only, and needs no restart of a service',
    async (signal) => {
      const before = load.outcomes.length;
      await pgBouncer.end(signal);
      await load.everyClient(1, ({ status }) => status === 503);
      await pgBouncer.restart();
      await load.everyClient(3, isSuccess);
      const outcomes = load.outcomes.slice(before).filter((outcome) => !isSuccess(outcome));
      expect(tally(outcomes.filter((outcome) => !isUnavailable(outcome)))).toEqual({});
    },
    300_000,
  );

  it('everything that was acknowledged is there, once, with its events', async () => {
    await load.stop();
    await expectCompleteIssues(stack, created);
    await expectCompleteSessions(stack);
    const { rows } = await stack.sql(
      'issues',
      `SELECT (SELECT count(*)::int FROM issues WHERE id = ANY($1::uuid[])) AS issues,
              (SELECT count(*)::int FROM comments WHERE id = ANY($2::uuid[])) AS comments,
              (SELECT count(*)::int FROM events WHERE type = 'issue.created' AND subject_id = ANY($1::uuid[])) AS events`,
      [[...issues], [...comments]],
    );
    expect(rows).toEqual([{ issues: issues.size, comments: comments.size, events: issues.size }]);
    // A refresh never ends a session; a sign-in ends those whose response was lost.
    const ended = 'SELECT id FROM token_families WHERE revoked_at IS NOT NULL AND suspect_at IS NULL';
    expect((await stack.sql('identity', ended)).rows).toEqual([]);
    for (const refresh_token of held) expect(await refreshOnce(refresh_token)).toBe(200);
    process.stderr.write(`Through PgBouncer: ${JSON.stringify(tally(load.outcomes))}\n`);
  });

  it('the migrator refuses PgBouncer', async () => {
    const env = {
      PATH: searchPath,
      MIGRATION_DATABASE_URL: pgBouncer.urlOf(stack.databases.issues.owner),
      SERVICE_DATABASE_ROLE: 'issues',
    };
    const result = await new Promise((resolve) => {
      const migrate = ['apps/issues/dist/migrate.js'];
      execFile(process.execPath, migrate, { cwd: repository, env }, (error, _, stderr) =>
        resolve([error?.code, stderr]),
      );
    });
    expect(result).toEqual([1, expect.stringContaining('leads to a connection pooler')]);
  });

  // Creates an issue and comments on it, without repetitions.
  function writerOnce(tokens: TokenResponse) {
    const api = issuesClient(stack, tokens);
    return async (client: Client) => {
      const title = `Once ${randomUUID()}`;
      const issue = await client.send('create once', () => api.post('/issues/', { title }));
      if (issue?.status !== 201) return pause();
      issues.add(issue.data.id);
      const path = `/issues/${issue.data.id}/comments/`;
      const comment = await client.send('comment once', () => api.post(path, { body: 'Once.' }));
      if (comment?.status === 201) comments.add(comment.data.id);
    };
  }

  // One session that is refreshed until the response to a committed rotation is lost.
  function session() {
    const identity = httpClient(stack.urls.identity);
    const credentials = { grant_type: 'password', email: 'ann@example.com', password };
    let token: string | undefined;
    let isUncertain = false;
    return async (client: Client) => {
      if (token === undefined) {
        const { data } = await client.sendUntilSuccess('login', () => identity.post('/token', credentials));
        token = String(data.refresh_token);
        held.add(token);
      }
      const refresh_token = token;
      const name = isUncertain ? 'refresh again' : 'refresh';
      const next = await client.send(name, () => identity.post('/token/refresh', { refresh_token }));
      isUncertain = next?.status !== 200;
      if (next?.status === 503) return pause();
      held.delete(token);
      if (next?.status === 401) expect(await liveSuccessorsOf(stack, token)).toBe(1);
      token = next?.data.refresh_token;
      if (token !== undefined) held.add(token);
    };
  }

  async function refreshOnce(refresh_token: string): Promise<number> {
    const answer = await httpClient(stack.urls.identity).post('/token/refresh', { refresh_token });
    // The last response to it may have been lost.
    const isLost = answer.status === 401 && (await liveSuccessorsOf(stack, refresh_token)) === 1;
    return isLost ? 200 : answer.status;
  }
});

function isSuccess({ status }: Outcome): boolean {
  return status === 200 || status === 201;
}

// 503 with the one body of errors; or a refresh whose first response was lost, which the session verifies.
function isUnavailable({ what, status, retryAfter, problem }: Outcome): boolean {
  if (what === 'refresh again' && status === 401) return true;
  const parsed = problemSchema.safeParse(problem);
  const isClean = !/pgbouncer|postgres|prisma/i.test(JSON.stringify(problem));
  return status === 503 && Number(retryAfter) > 0 && parsed.success && parsed.data.status === 503 && isClean;
}
