import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type FakeGitHub, startGitHub } from '../src/fakes.ts';
import { send } from './support/client.ts';

const ISSUES = '/repos/tessera/tracker/issues';

let tracker: FakeGitHub;

beforeEach(async () => {
  tracker = await startGitHub();
});

afterEach(async () => {
  await tracker.close();
});

const create = (title: string, signal?: AbortSignal) =>
  send(tracker, 'POST', ISSUES, { body: { title }, ...(signal === undefined ? {} : { signal }) });
const titles = () => tracker.issues().map(({ title }) => title);

describe('fail()', () => {
  it('status: sends the given response and does not process the request', async () => {
    tracker.fail({
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '7' },
      body: { message: 'slow down' },
    });
    const reply = await create('One');

    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).toBe('7');
    expect(reply.body).toEqual({ message: 'slow down' });
    expect(titles()).toEqual([]);
    expect(tracker.requests).toMatchObject([{ method: 'POST', body: { title: 'One' }, status: 429 }]);
  });

  it('status: sends text unchanged, as a proxy in front of a tracker does', async () => {
    tracker.fail({
      kind: 'status',
      status: 502,
      headers: { 'content-type': 'text/html' },
      body: '<h1>Bad</h1>',
    });
    const response = await fetch(tracker.url);

    expect(response.status).toBe(502);
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(await response.text()).toBe('<h1>Bad</h1>');
  });

  it('reset_before: no response, request not processed', async () => {
    tracker.fail({ kind: 'reset_before' });

    await expect(create('One')).rejects.toThrow('fetch failed');
    expect(titles()).toEqual([]);
    expect(tracker.requests).toMatchObject([{ status: null }]);
  });

  it('reset_after: no response, request processed', async () => {
    tracker.fail({ kind: 'reset_after' });

    await expect(create('One')).rejects.toThrow('fetch failed');
    expect(titles()).toEqual(['One']);
    expect(tracker.requests).toMatchObject([{ status: null }]);
  });

  it('truncated_json: request processed, valid HTTP response with half of the JSON', async () => {
    tracker.fail({ kind: 'truncated_json' });

    await expect(create('One')).rejects.toThrow(SyntaxError);
    expect(titles()).toEqual(['One']);
    expect(tracker.requests).toMatchObject([{ status: 201 }]);
  });

  it('silent_drop: success response, request not processed, number not reused', async () => {
    tracker.fail({ kind: 'silent_drop' });
    const dropped = await create('One');
    const kept = await create('Two');

    expect(dropped.status).toBe(201);
    expect(dropped.body).toMatchObject({ number: 1, title: 'One' });
    expect(kept.body).toMatchObject({ number: 2 });
    expect(titles()).toEqual(['Two']);
    expect(tracker.violations()).toEqual([]);
  });

  it('silent_drop: reverts an edit', async () => {
    await create('One');
    tracker.fail({ kind: 'silent_drop', on: { method: 'patch' } });
    const reply = await send(tracker, 'PATCH', `${ISSUES}/1`, { body: { title: 'Uno', state: 'closed' } });

    expect(reply.body).toMatchObject({ title: 'Uno', state: 'closed' });
    expect(tracker.issues()).toMatchObject([{ title: 'One', state: 'open', comments: [] }]);
  });

  it('latency: request processed after the wait, even if the client has disconnected', async () => {
    tracker.fail({ kind: 'latency', ms: 200 });
    const gone = new AbortController();
    const request = create('Late', gone.signal);
    const ended = expect(request).rejects.toThrow();
    await eventually(() => tracker.requests.length === 1);
    expect(titles()).toEqual([]);
    gone.abort();
    await ended;

    await eventually(() => titles().length === 1);
  });

  it('slow_body: request processed and headers sent at once, body complete in the end', async () => {
    tracker.fail({ kind: 'slow_body', ms: 300 });
    const response = await fetch(tracker.url + ISSUES, {
      method: 'POST',
      headers: { authorization: `Bearer ${tracker.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Ünï' }),
    });

    expect(response.status).toBe(201);
    expect(titles()).toEqual(['Ünï']);
    expect(await response.json()).toMatchObject({ title: 'Ünï' });
  });

  it('applies faults to matching requests only, as often as requested, one per request, oldest first', async () => {
    tracker.fail({ kind: 'status', status: 500, on: { method: 'POST', path: /\/issues$/g }, times: 2 });
    tracker.fail({ kind: 'status', status: 503 });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await create(`${n}`)).status);

    expect(statuses).toEqual([500, 500, 503, 201]);
    expect((await send(tracker, 'GET', ISSUES)).status).toBe(200);
  });

  it('applies an infinite fault until it is cleared', async () => {
    tracker.fail({ kind: 'status', status: 503, times: Number.POSITIVE_INFINITY });
    const during = [(await create('a')).status, (await create('b')).status, (await create('c')).status];
    tracker.clearFaults();

    expect(during).toEqual([503, 503, 503]);
    expect((await create('d')).status).toBe(201);
  });
});

describe('an outage', () => {
  it('refuses connections, drops requests, and keeps port and issues', async () => {
    await create('Before');
    tracker.fail({ kind: 'latency', ms: 60_000 });
    const waiting = expect(create('During')).rejects.toThrow('fetch failed');
    await eventually(() => tracker.requests.length === 2);
    await tracker.stop();
    await waiting;

    await expect(create('ErrorResponse')).rejects.toThrow('fetch failed');
    await tracker.restart();
    expect((await create('After')).status).toBe(201);
    expect(titles()).toEqual(['Before', 'After']);
    expect(tracker.requests.map(({ status }) => status)).toEqual([201, null, 201]);
  });

  it('can be closed twice, and while it is stopped', async () => {
    await tracker.stop();
    await tracker.close();
    await tracker.close();

    await expect(create('x')).rejects.toThrow('fetch failed');
  });
});
