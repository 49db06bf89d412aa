import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { findFreePort, PgBouncer } from '@tessera/stack/postgres';
import { type OpenedStream, openReady } from './support/event-stream.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// `STREAM_IDLE_SECONDS=70` exceeds the default timeout of nginx for a silent response, which is 60 seconds.
const idleSeconds = Number(process.env.STREAM_IDLE_SECONDS ?? 0);

let app: TestApp;
let ann: TestPerson;
let issue: Issue;
let folder: string;
const programs: ChildProcess[] = [];
const services: IssuesService[] = [];
let pgBouncer: PgBouncer | undefined;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  issue = await createIssue(ann);
  folder = await mkdtemp(join(tmpdir(), 'streams-'));
  // nginx gives up root.
  await chmod(folder, 0o777);
});
afterAll(async () => {
  for (const service of services) await service.stop();
  await pgBouncer?.stop();
  for (const program of programs) {
    program.kill();
    await once(program, 'exit');
  }
  await app.close();
  await rm(folder, { recursive: true });
});

/** Starts a program and waits until it accepts connections. */
async function run(command: string, options: string[], port: number): Promise<void> {
  const program = spawn(command, options, { stdio: ['ignore', 'ignore', 'inherit'] });
  programs.push(program);
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    if (program.exitCode !== null) throw new Error(`${command} exited with ${program.exitCode}`);
    await pause(20);
  }
}

/** Writes comments through `writer`, and returns how long the stream took for each, in milliseconds. */
async function delays(stream: OpenedStream, writer: TestPerson, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const next = stream.events.length + 1;
    await writer.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    const from = performance.now();
    await stream.until(next);
    times.push(performance.now() - from);
    // Longer than the pause between two reads.
    await pause(120);
  }
  return times;
}

/** A busy machine delays single events; a proxy that buffers, or a reader that is not told, delays all. */
const median = (times: number[]) => [...times].sort((one, other) => one - other)[times.length >> 1];

const shown = (times: number[]) => times.map((time) => Math.round(time)).join(', ');

describe('nginx with its default settings', () => {
  let url: string;
  beforeAll(async () => {
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    await writeFile(
      join(folder, 'nginx.conf'),
      `daemon off; pid nginx.pid; error_log stderr crit; events {}
       http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
         uwsgi_temp_path uwsgi; scgi_temp_path scgi;
         server { listen 127.0.0.1:${port}; location / { proxy_pass ${app.url}; } } }`,
    );
    await run('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], port);
  });

  it('forwards each event at once, and the last id of a client that reconnects', async () => {
    const stream = await openReady(url, ann);
    const times = await delays(stream, ann, 20);
    if (idleSeconds > 0) {
      await pause(idleSeconds * 1_000);
      times.push(...(await delays(stream, ann, 1)));
      process.stderr.write(`After ${idleSeconds} s without an event, the stream was open.\n`);
    }
    stream.close();
    process.stderr.write(`Delays through nginx in ms: ${shown(times)}\n`);
    expect(median(times)).toBeLessThan(1_000);
    await ann.post(issuePath(issue, 'comments/'), { body: 'missed' }).expect(201);
    const resumed = await openReady(url, ann, { lastEventId: stream.lastId() });
    const [missed] = await resumed.until(1);
    expect(missed?.type).toBe('issue.commented');
    resumed.close();
  });
});

describe('PgBouncer in transaction mode, with DATABASE_POOLER=transaction', () => {
  it('delivers the events of another process within three seconds', async () => {
    const { username: role, password } = new URL(app.databaseUrl);
    pgBouncer = await PgBouncer.start(app.databaseUrl, [{ role, password }]);
    const pooled = { databaseUrl: pgBouncer.urlOf(app.databaseUrl), identity: app.identity };
    services.push(
      await startIssuesService(pooled, { DATABASE_POOLER: 'transaction' }),
      await startIssuesService(pooled, { DATABASE_POOLER: 'transaction' }),
    );
    const [reader, writer] = services as [IssuesService, IssuesService];
    const stream = await openReady(reader.url, ann);
    const times = await delays(stream, ann.on(writer), 8);
    stream.close();
    process.stderr.write(`Delays through PgBouncer in ms: ${shown(times)}\n`);
    expect(median(times)).toBeLessThan(3_500);
  });
});
