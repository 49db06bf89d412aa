import { afterEach, describe, expect, it } from '@jest/globals';
import { first, httpClient, type Stack, type StackOptions, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import pg from 'pg';
import { issuesClient, password, reader, session, signUp, writer } from './support/clients.ts';
import { expectCompleteIssues, expectCompleteSessions } from './support/completeness.ts';
import { Load, tally } from './support/load.ts';

// Exit code 0 proves that it was in time: after SHUTDOWN_TIMEOUT_MS a service exits with 1.
describe('SIGTERM', () => {
  let stack: Stack;
  afterEach(async () => {
    await stack.stop();
  });
  const start = async (environment: NonNullable<StackOptions['environment']>) => {
    stack = await startStack({ environment });
    return signUp(stack, 'ann');
  };
  const isRefused = async (url: string) => {
    const ask = () =>
      httpClient(url)
        .get('/healthz')
        .then(
          () => '',
          (error: NodeJS.ErrnoException) => error.code ?? '',
        );
    await eventually(ask, (code) => code === 'ECONNREFUSED');
  };

  it('issues the tokens of sign-ins that wait in the queue', async () => {
    // More hashing than the delay allows, so that some sign-ins still wait when the listener closes.
    await start({
      identity: {
        BCRYPT_COST: '12',
        HASH_CONCURRENCY: '1',
        HASH_QUEUE_TIMEOUT_MS: '60000',
        SHUTDOWN_DELAY_MS: '1000',
      },
    });
    const identity = first(stack.identities);
    const credentials = { grant_type: 'password', email: 'ann@example.com', password };
    const logins = Array.from({ length: 15 }, () => httpClient(identity.url).post('/token', credentials));
    await Promise.race(logins);
    const exit = identity.stop();
    expect((await Promise.all(logins)).map(({ status }) => status)).toEqual(Array(15).fill(200));
    expect(await exit).toBe(0);
  });

  it('completes writes that wait for the database, and accepts no new connections', async () => {
    const tokens = await start({});
    const issues = first(stack.issues);
    const lock = new pg.Client({ connectionString: stack.databases.issues.owner });
    await lock.connect();
    // Jobs in the background read the table and do not wait.
    await lock.query('BEGIN; LOCK TABLE issues IN SHARE MODE');
    const titles = Array.from({ length: 8 }, (_, index) => `Under way ${index}`);
    const writes = titles.map((title) => issuesClient(stack, tokens).post('/issues/', { title }));
    await eventually(
      () => stack.waitingForLocks('issues'),
      // One identity has half of the connections; its other requests wait for their turn.
      (count) => count === 5,
    );
    const exit = issues.stop();
    await isRefused(issues.url);
    await lock.query('COMMIT');
    await lock.end();
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(await exit).toBe(0);
    await expectCompleteIssues(stack, new Set(titles));
  });

  it('fails no request of a client that stops when readiness reports 503, as a load balancer does', async () => {
    const delayed = { SHUTDOWN_DELAY_MS: '5000', LOG_LEVEL: 'warn' };
    const tokens = await start({ identity: delayed, issues: delayed });
    const created = new Set<string>();
    const load = new Load();
    for (let index = 0; index < 6; index += 1) load.add(writer(stack, tokens, created));
    for (let index = 0; index < 3; index += 1) load.add(reader(stack, tokens));
    for (let index = 0; index < 3; index += 1) load.add(session(stack, 'ann'));
    await load.everyClient(10);
    const services = [first(stack.issues), first(stack.identities)];
    const exits = Promise.all(services.map((service) => service.stop()));
    for (const { url } of services) {
      const ask = async () => (await httpClient(url).get('/readyz')).status;
      await eventually(ask, (status) => status === 503);
    }
    await load.stop();
    expect(await exits).toEqual([0, 0]);
    const failed = load.outcomes.filter(({ status }) => status !== 200 && status !== 201);
    expect(tally(failed)).toEqual({});
    await expectCompleteIssues(stack, created);
    await expectCompleteSessions(stack);
  });
});
