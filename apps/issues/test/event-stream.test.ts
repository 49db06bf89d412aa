import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueEventFeedSchema } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import './support/response-guard.ts';
import { type OpenedStream, openReady, openStream, streamPath } from './support/event-stream.ts';
import type { FakeIdentity } from './support/fake-identity.ts';
import { insertHistory } from './support/history.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let issue: Issue;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app, { is_staff: true });
  issue = await createIssue(ann);
});
const opened: OpenedStream[] = [];
const apps: TestApp[] = [];
afterAll(async () => {
  for (const stream of opened) stream.close();
  for (const one of [...apps, app]) await one.close();
});

async function open(
  options?: Parameters<typeof openStream>[2],
  person = ann,
  of: Pick<TestApp, 'url'> = app,
) {
  const stream = await openReady(of.url, person, options);
  opened.push(stream);
  return stream;
}
const comment = (person = ann) => person.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
const comments = async (count: number) => {
  for (let number = 0; number < count; number += 1) await comment();
};
const idsOf = (stream: Pick<OpenedStream, 'events'>) => stream.events.map(({ data }) => data.id);
const feedEnd = async (): Promise<string> =>
  (await ann.get('/api/v1/events/?after=now').expect(200)).body.next;
async function feedAfter(cursor: string) {
  await untilDeliverable(app);
  const { body } = await ann.get(`/api/v1/events/?after=${cursor}`).expect(200);
  return issueEventFeedSchema.parse(body).events;
}

describe('a stream of events', () => {
  it('sends the events of the feed from now on, in its order', async () => {
    await untilDeliverable(app);
    const start = await feedEnd();
    const stream = await open();
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(stream.response.headers['content-encoding']).toBeUndefined();
    expect(stream.text()).toMatch(/^retry: 3000\n\n/);
    await createIssue(ann);
    await comments(5);
    const received = await stream.until(6);
    expect(received.map(({ data }) => data)).toEqual(await feedAfter(start));
    expect(received.map(({ type }) => type)).toEqual(received.map(({ data }) => data.type));
    expect(stream.events).toHaveLength(6);
    stream.close();
  });

  it('resumes after its last id without loss or repetition, from memory and from the database', async () => {
    await untilDeliverable(app);
    const start = await feedEnd();
    const first = await open({ query: `?after=${start}` });
    await comments(3);
    await first.until(2);
    first.close();
    await comments(2);
    // Without an open stream, no events are in memory.
    const second = await open({ query: `?after=${start}`, lastEventId: first.events[1]?.id ?? '' });
    await comments(1);
    await second.until(4);
    const third = await open({ query: `?after=${second.events[0]?.id}` });
    await comments(1);
    await third.until(4);
    // The event before this place was written while a stream was open.
    const fourth = await open({ query: `?after=${second.events[3]?.id}` });
    await comments(1);
    await Promise.all([third.until(5), fourth.until(2)]);
    const ids = (await feedAfter(start)).map(({ id }) => id);
    expect([...idsOf(first).slice(0, 2), ...idsOf(second).slice(0, 4)]).toEqual(ids.slice(0, 6));
    expect(idsOf(third)).toEqual(ids.slice(3));
    expect(idsOf(fourth)).toEqual(ids.slice(6));
    for (const stream of [second, third, fourth]) stream.close();
  });

  it('sends only events of the requested issues and types', async () => {
    const other = await createIssue(ann);
    await untilDeliverable(app);
    const all = await open();
    const byKey = await open({ query: `?issue=${other.key},ISS-999999,NEVER-${issue.number}` });
    const byId = await open({ query: `?issue=${other.id}&issue=${issue.key}&types=issue.updated` });
    await comment();
    await ann.patch(issuePath(other), { title: 'New' }).expect(200);
    await ann.post(issuePath(other, 'comments/'), { body: 'x' }).expect(201);
    await all.until(3);
    await byKey.until(2);
    await byId.until(1);
    expect(byKey.events).toEqual(all.events.filter(({ data }) => issueIdOf(data) === other.id));
    expect(byId.events).toEqual(all.events.filter(({ type }) => type === 'issue.updated'));
    for (const stream of [all, byKey, byId]) stream.close();
  });

  it('sends a reset to a client that is too far behind or has a cursor of another database', async () => {
    await untilDeliverable(app);
    const start = await feedEnd();
    await app.sql(insertHistory, [issue.id, ann.id, 1001]);
    await untilDeliverable(app);
    const behind = await open({ query: `?after=${start}` });
    const service = await startTestApp({}, { identity: app.identity });
    apps.push(service);
    const foreign = (await ann.on(service).get('/api/v1/events/?after=now').expect(200)).body.next;
    const elsewhere = await open({ query: `?after=${start}`, lastEventId: foreign });
    await comment();
    for (const stream of [behind, elsewhere]) {
      const [reset, next] = await stream.until(2);
      expect(reset).toEqual({ id: reset?.id, type: 'reset', data: { next: reset?.id } });
      expect((await feedAfter(reset?.id ?? '')).map(({ id }) => id)).toEqual([next?.data.id]);
      stream.close();
    }
  });

  it('rejects other cursors, filters and parameters, and requests without a token', async () => {
    for (const [query, field] of [
      ['after=x', 'after'],
      ['issue=x!', 'issue'],
      [`issue=${'1,'.repeat(100)}1`, 'issue'],
      ['types=issue.created,other', 'types'],
    ] as const)
      expectInvalidFields(await ann.get(`${streamPath}?${query}`), [field]);
    expectInvalidFields(await ann.get(streamPath).set('Last-Event-ID', 'x'), ['Last-Event-ID']);
    expect((await ann.get(`${streamPath}?limit=1`)).status).toBe(422);
    expectProblem(await app.http.get(streamPath), 401, 'unauthorized');
    const { headers } = await ann.head(streamPath).expect(200);
    expect(headers['content-type']).toBe('text/event-stream');
    await ann.options(streamPath).expect(204);
  });

  it('is limited to six of an identity, in the metrics, and free again when one ends', async () => {
    const bob = await aPerson(app);
    const streams = await Promise.all(Array.from({ length: 6 }, () => open({}, bob)));
    const refused = await bob.get(streamPath);
    expectProblem(refused, 429, 'too_many_streams');
    expect(refused.headers['retry-after']).toBe('10');
    expect(await app.dependencies.metrics.registry.metrics()).toMatch(/^event_streams{.*} 6$/m);
    streams[0]?.close();
    for (;;) {
      const again = await openStream(app.url, bob);
      opened.push(again);
      if (again.response.statusCode === 200) break;
    }
    for (const stream of opened) stream.close();
  });
});

const issueIdOf = ({ data }: { data?: unknown }) => (data as { issue_id: string }).issue_id;

async function measuredSeconds(): Promise<number> {
  const durations = /^http_request_duration_seconds_sum{.*events\/stream.*status="200".*} ([\d.]+)$/m;
  return Number(durations.exec(await app.dependencies.metrics.registry.metrics())?.[1] ?? 0);
}

describe('the end of a stream', () => {
  it('comes within five seconds after a deactivation', async () => {
    const bob = await aPerson(app);
    const [ended, other] = [await open({}, bob), await open()];
    await app.sql('UPDATE identity_mirror SET is_active = false WHERE id = $1', [bob.id]);
    const from = performance.now();
    await ended.ended;
    expect(performance.now() - from).toBeLessThan(5_000);
    expect(ended.text()).toMatch(/: identity_inactive\n\n$/);
    await comment();
    await other.until(1);
    other.close();
  });

  it('comes when the token expires', async () => {
    const identity = app.identity as FakeIdentity;
    const { access_token: token } = await identity.signIn(ann.email, undefined, '2 seconds');
    const before = await measuredSeconds();
    const stream = await open({}, { ...ann, token });
    await stream.ended;
    expect(stream.text()).toMatch(/: token_expired\n\n$/);
    // The metrics count the time until a stream begins, the log its whole duration.
    const measured = (await measuredSeconds()) - before;
    const [, logged] = /"duration_ms":([\d.]+),"stream_end":"token_expired"/.exec(app.log.join('')) ?? [];
    expect(Number(logged)).toBeGreaterThan(1_000);
    expect(measured).toBeLessThan(Number(logged) / 1_000 - 0.5);
  });

  it('comes to a client that does not read, and not to others', async () => {
    const reader = await open();
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(`GET ${streamPath} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`);
    const ended = async () =>
      Number(/reason="slow_client".*} (\d+)/.exec(await app.dependencies.metrics.registry.metrics())?.[1]);
    // About 0.5 MB of events at a time, until the buffers of the operating system are full too.
    for (let round = 0; (await ended()) === 0; round += 1) {
      if (round > 60) throw new Error('the stream did not end');
      await app.sql(insertHistory, [issue.id, ann.id, 900]);
      await pause(50);
    }
    socket.destroy();
    await reader.until(900);
    reader.close();
  });

  it('does not delay the exit of a process, also with a client that does not read', async () => {
    const service = await startIssuesService(app);
    const streams = [await open({}, ann, service), await open({}, ann, service)];
    const { hostname, port } = new URL(service.url);
    const silent = connect(Number(port), hostname);
    await once(silent, 'connect');
    silent.pause();
    silent.write(`GET ${streamPath} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`);
    const from = performance.now();
    expect(await service.stop()).toBe(0);
    expect(performance.now() - from).toBeLessThan(5_000);
    await Promise.all(streams.map(({ ended }) => ended));
    const [one, other] = streams.map((stream) => /retry: (\d+)\n\n$/.exec(stream.text())?.[1]);
    expect([typeof one, one === other]).toEqual(['string', false]);
    silent.destroy();
  });

  it('comes with a varied time of reconnection when the process stops', async () => {
    const service = await startTestApp({}, app);
    const stream = await open({}, ann, service);
    service.dependencies.endStreams();
    await stream.ended;
    expect(stream.text()).toMatch(/retry: [1-9]\d{3,4}\n\n$/);
    expectProblem(await ann.on(service).get(streamPath), 503, 'temporarily_unavailable');
    await service.close();
  });
});

describe('streams of two replicas', () => {
  /** Returns the time until a stream of another replica has the event of a change, in milliseconds. */
  async function delay(stream: OpenedStream): Promise<number> {
    const count = stream.events.length;
    await comment();
    const from = performance.now();
    await stream.until(count + 1);
    return performance.now() - from;
  }

  /**
   * Whether five events in a row came within 0.7 seconds, in one of six attempts. Without signals, a replica looks every two
   * seconds, so that this is unlikely; on a busy machine, a single event may be late.
   */
  async function isPrompt(stream: OpenedStream): Promise<boolean> {
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const delays: number[] = [];
      while (delays.length < 5) delays.push(await delay(stream));
      if (delays.every((one) => one < 700)) return true;
    }
    return false;
  }

  it('get events of the other one within a second, also after all connections to the database ended', async () => {
    const service = await startTestApp({}, app);
    apps.unshift(service);
    const stream = await open({}, ann, service);
    const listeners = async () =>
      (
        await app.sql(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'issues events' AND state = 'idle'`,
        )
      ).length;
    const connected = async () => {
      while ((await listeners()) < 2) await pause(20);
    };
    await connected();
    expect(await isPrompt(stream)).toBe(true);
    await app.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await connected();
    expect(await isPrompt(stream)).toBe(true);
    stream.close();
  });

  it('get events within three seconds with EVENTS_LISTEN=off', async () => {
    const service = await startTestApp({ EVENTS_LISTEN: 'off' }, app);
    apps.unshift(service);
    const stream = await open({}, ann, service);
    expect(await delay(stream)).toBeLessThan(3_500);
    stream.close();
  });
});
