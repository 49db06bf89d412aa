// Measures streams of events in one process of the built service: memory, the delay of an event, and other requests meanwhile.
// `pnpm bench:streams [count]`, after `npx pnpm@12 build`. The limit of open files (`ulimit -Hn`) must exceed the count.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import supertest from 'supertest';
import { FakeIdentity } from '../test/support/fake-identity.ts';
import { prepareRun } from '../test/support/global-setup.ts';
import { insertHistory } from '../test/support/history.ts';
import { startIssuesService } from '../test/support/issues-service.ts';
import { anEmail, password } from '../test/support/people.ts';
import { createTestDatabase } from '../test/support/test-database.ts';
import type { LoadResult, PacedLoad } from './streams.load.ts';

const count = Number(process.argv[2] ?? 5_000);
const slowCount = 50;
const seconds = 15;
const streamsPerPerson = 5;

const postgres = await prepareRun();
const identity = await FakeIdentity.start();
const databaseUrl = await createTestDatabase();
const service = await startIssuesService({ databaseUrl, identity }, { METRICS_PORT: '0' });
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
const load = fork(fileURLToPath(new URL('./streams.load.ts', import.meta.url)));

const { token, id: personId } = await aToken();
const { body: issue } = await supertest(service.url)
  .post('/api/v1/issues/')
  .auth(token, { type: 'bearer' })
  .send({ title: 'x' });
const sockets: Socket[] = [];
/** The number of received events and the time of each, by stream. */
const arrivals: number[][] = [];

await runLoad(0, 5);
const emptyMemory = residentMegabytes();
show('memory without streams', `${emptyMemory} MB`);
show('reads without streams', quantiles((await runLoad(0)).reads));
await openStreams();
await pause(3_000);
show(`memory with ${count} streams`, `${residentMegabytes()} MB`);
show('memory of a stream', `${(((residentMegabytes() - emptyMemory) * 1024) / count).toFixed(1)} KB`);
show('reads with silent streams', quantiles((await runLoad(0)).reads));
for (const perSecond of [1, 5]) await measureEvents(perSecond);
await measureSlowClients();

for (const socket of sockets) socket.destroy();
load.kill();
await service.stop();
await client.end();
await identity.stop();
await postgres.stop();

async function aToken() {
  const { id, email } = await identity.create({ email: anEmail(), password });
  return { id, token: (await identity.signIn(email)).access_token };
}

function show(name: string, value: string): void {
  console.log(name.padEnd(42), value);
}

function residentMegabytes(): number {
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

function quantiles(times: number[]): string {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, maximum ${at(1)} ms (${sorted.length})`;
}

async function runLoad(writesPerSecond: number, forSeconds = seconds): Promise<LoadResult> {
  const task: PacedLoad = {
    url: service.url,
    token,
    readPath: `/api/v1/issues/${issue.key}/`,
    writePath: `/api/v1/issues/${issue.key}/comments/`,
    readsPerSecond: 50,
    writesPerSecond,
    seconds: forSeconds,
  };
  load.send(task);
  const [result] = (await once(load, 'message')) as [LoadResult];
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  return result;
}

async function openStream(streamToken: string): Promise<void> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const times: number[] = [];
  sockets.push(socket);
  arrivals.push(times);
  socket.write(
    `GET /api/v1/events/stream/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${streamToken}\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.includes('200 OK')) throw new Error(head.toString());
  socket.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf('event: '); at >= 0; at = chunk.indexOf('event: ', at + 1))
      times.push(performance.timeOrigin + performance.now());
  });
}

async function openStreams(): Promise<void> {
  const startedAt = performance.now();
  for (let opened = 0; opened < count; opened += 10 * streamsPerPerson) {
    const people = await Promise.all(Array.from({ length: 10 }, aToken));
    await Promise.all(
      people.flatMap((person) => Array.from({ length: streamsPerPerson }, () => openStream(person.token))),
    );
  }
  const duration = (performance.now() - startedAt) / 1000;
  show(`time to open ${sockets.length} streams`, `${duration.toFixed(1)} s`);
}

async function measureEvents(perSecond: number): Promise<void> {
  const before = arrivals.map(({ length }) => length);
  const { committedAt, reads } = await runLoad(perSecond);
  while (arrivals.some(({ length }, index) => length < (before[index] ?? 0) + committedAt.length))
    await pause(50);
  committedAt.sort((one, other) => one - other);
  const delays = arrivals.flatMap((times, index) =>
    committedAt.map((at, event) => (times[(before[index] ?? 0) + event] ?? Number.NaN) - at),
  );
  show(`delay of ${perSecond} events a second`, quantiles(delays));
  show(`reads with ${perSecond} events a second`, quantiles(reads));
}

/** Clients that stop reading, beside some that read. */
async function measureSlowClients(): Promise<void> {
  for (const socket of sockets.splice(2 * slowCount)) socket.destroy();
  const [slow, readers] = [sockets.slice(0, slowCount), arrivals.slice(slowCount, 2 * slowCount)];
  for (const socket of slow) socket.pause();
  await pause(2_000);
  const before = residentMegabytes();
  let [written, peak] = [0, before];
  while ((await droppedStreams()) < slowCount && written < 200_000) {
    await client.query(insertHistory, [issue.id, personId, 500]);
    written += 500;
    await pause(20);
    peak = Math.max(peak, residentMegabytes());
  }
  await pause(5_000);
  show(
    `${await droppedStreams()} of ${slowCount} clients that do not read dropped`,
    `after ${written} events; memory ${before} MB before, at most ${peak} MB, ${residentMegabytes()} MB afterwards`,
  );
  const received = readers.map(({ length }) => length);
  show('events of the streams beside them', `${Math.min(...received)} to ${Math.max(...received)}`);
}

async function droppedStreams(): Promise<number> {
  const port = /"metrics_port":(\d+)/.exec(service.log.join(''))?.[1];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/reason="slow_client".*} (\d+)/.exec(text)?.[1]);
}
