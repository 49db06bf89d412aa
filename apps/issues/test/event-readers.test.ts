import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { unreadEvents } from '../src/events/event-reader.sql.ts';
import { Prisma } from '../src/generated/prisma/client.ts';
import { createIssue } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let apps: TestApp[];
beforeAll(async () => {
  const app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  apps = [app, await startTestApp({}, app)];
});
afterAll(async () => {
  for (const app of apps.toReversed()) await app.close();
});

/** Processes a page of events in one statement. Returns their ids. */
async function readPage(app: TestApp, limit: number): Promise<bigint[]> {
  const rows = await app.database.$queryRaw<{ id: bigint }[]>`
    WITH ${unreadEvents(Prisma.sql, 'test', limit)} SELECT id FROM page ORDER BY tx, id`;
  return rows.map(({ id }) => id);
}

it('processes each event once over parallel statements of two processes', async () => {
  const [app] = apps as [TestApp];
  const ann = await aPerson(app);
  await app.sql('DELETE FROM event_readers');
  await app.sql("INSERT INTO event_readers VALUES ('test', 0, 0)");
  for (let count = 0; count < 20; count += 1) await createIssue(ann);
  await untilDeliverable(app);
  const stored = await app.sql<{ id: string }>('SELECT id FROM events WHERE tx > 0 ORDER BY tx, id');
  const read: bigint[] = [];
  while (read.length < stored.length) {
    const pages = await Promise.all([...apps, ...apps, ...apps].map((each) => readPage(each, 3)));
    for (const page of pages) read.push(...page);
  }
  expect([...read].sort((a, b) => Number(a - b)).map(String)).toEqual(
    stored.map(({ id }) => id).sort((a, b) => Number(a) - Number(b)),
  );
  expect(await readPage(app, 3)).toEqual([]);
});

it('reads new events after a restore on a server that has counted fewer transactions', async () => {
  const [app] = apps as [TestApp];
  const ann = await aPerson(app);
  await app.sql("UPDATE event_readers SET tx = 900000000000, event_id = 7 WHERE name = 'test'");
  await untilDeliverable(app);
  expect(await readPage(app, 100)).toEqual([]);
  await createIssue(ann);
  await untilDeliverable(app);
  expect(await readPage(app, 100)).toHaveLength(1);
});
