import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { first, httpClient, type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import { type BreakablePostgres, startBreakablePostgres } from '@tessera/stack/postgres';
import { reader, session, signUp, writer, writerWithoutKey } from './support/clients.ts';
import { expectCompleteIssues, expectCompleteSessions } from './support/completeness.ts';
import { EventReaders } from './support/event-readers.ts';
import { isDocumented, isSuccess, Load, tally } from './support/load.ts';

const short = { DATABASE_STATEMENT_TIMEOUT_MS: '1000', LOG_LEVEL: 'warn' };

// One load for the whole file. The services are not restarted.
describe('under load, a database that', () => {
  let postgres: BreakablePostgres;
  let stack: Stack;
  let readers: EventReaders | undefined;
  const load = new Load();
  const [created, tried] = [new Set<string>(), new Set<string>()];

  beforeAll(async () => {
    postgres = await startBreakablePostgres();
    stack = await startStack({ postgres, environment: { identity: short, issues: short } });
    const tokens = await signUp(stack, 'ann');
    readers = new EventReaders(stack, tokens);
    for (let index = 0; index < 4; index += 1) load.add(writer(stack, tokens, created));
    for (let index = 0; index < 2; index += 1) load.add(writerWithoutKey(stack, tokens, tried, created));
    for (let index = 0; index < 2; index += 1) load.add(reader(stack, tokens));
    for (let index = 0; index < 3; index += 1) load.add(session(stack, 'ann'));
    await load.everyClient(5, isSuccess);
  });
  afterAll(async () => {
    await load.stop().catch(() => undefined);
    await readers?.stop();
    expect(await stack.stop()).toEqual([0, 0]);
  });

  it.each([
    { fault: 'shuts down', begin: () => postgres.shutDown(), end: () => postgres.start() },
    { fault: 'crashes', begin: () => postgres.crash(), end: () => postgres.start() },
    { fault: 'answers nothing', begin: () => postgres.pause(), end: () => postgres.resume() },
  ])(
    '$fault causes documented responses only, changes readiness, and needs no restart',
    async (phase) => {
      const before = load.outcomes.length;
      await readiness(200);
      await phase.begin();
      // Requests in flight are answered during the outage.
      await load.everyClient(3);
      await readiness(503);
      for (const url of urls()) expect((await httpClient(url).get('/healthz')).status).toBe(200);
      expect((await httpClient(first(stack.identities).url).get('/jwks')).status).toBe(200);
      await load.everyClient(1, ({ status }) => status === 503);
      await readiness(503);
      await phase.end();
      await readiness(200);
      await load.everyClient(5, isSuccess);
      const outcomes = load.outcomes.slice(before);
      expect(tally(outcomes.filter((outcome) => !isDocumented(outcome)))).toEqual({});
      expect(outcomes.filter(({ status }) => status === 503).length).toBeGreaterThan(11);
    },
    300_000,
  );

  it('leaves nothing partial, lost or duplicated', async () => {
    await load.stop();
    await expectCompleteIssues(stack, created);
    await expectCompleteSessions(stack);
    expect(created.size).toBeGreaterThan(20);
    const { rows } = await stack.sql('issues', "SELECT title FROM issues WHERE title LIKE 'Careless%'");
    expect(rows.filter(({ title }) => !tried.has(title))).toEqual([]);
    await readers?.expectAllEvents();
    await readers?.expectEventsOf(new Set([...created].filter((title) => !tried.has(title))));
  });

  const urls = () => [first(stack.identities).url, first(stack.issues).url];

  async function readiness(status: number): Promise<void> {
    for (const url of urls()) {
      const ask = async () => (await httpClient(url).get('/readyz')).status;
      await eventually(ask, (answer) => answer === status);
    }
  }
});
