import { afterEach, describe, expect, it } from '@jest/globals';
import { first, httpClient, type Stack, type StackOptions, startStack } from '@tessera/stack';
import pg from 'pg';
import { issuesClient, password, reader, session, signUp, writer } from './support/clients.ts';
import { eventually, Load, tally } from './support/load.ts';
import { expectWholeIssues, expectWholeSessions } from './support/wholeness.ts';

// Exit code 0 says that it was in time: beyond SHUTDOWN_TIMEOUT_MS a service ends itself with 1.
describe('SIGTERM', () => {
  let stack: Stack;
  afterEach(async () => {
    await stack.stop();
  }, 60_000);
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

  it('lets sign-ins that stand in the queue have their tokens', async () => {
    // More than the delay's worth of hashing, so that some still wait when the last connection has been taken.
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
  }, 60_000);

  it('lets writes that wait for the database be written and answered, and takes no new connection', async () => {
    const tokens = await start({});
    const issues = first(stack.issues);
    const lock = new pg.Client({ connectionString: stack.databases.issues.owner });
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE issues IN ACCESS EXCLUSIVE MODE');
    const titles = Array.from({ length: 8 }, (_, index) => `Under way ${index}`);
    const writes = titles.map((title) => issuesClient(stack, tokens).post('/issues/', { title }));
    await eventually(
      () => stack.waitingForLocks('issues'),
      (count) => count === titles.length,
    );
    const exit = issues.stop();
    await isRefused(issues.url);
    await lock.query('COMMIT');
    await lock.end();
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(await exit).toBe(0);
    await expectWholeIssues(stack, new Set(titles));
  }, 60_000);

  it('costs a client nothing that leaves as soon as readiness says so, as a load balancer does', async () => {
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
    await expectWholeIssues(stack, created);
    await expectWholeSessions(stack);
  }, 60_000);
});
