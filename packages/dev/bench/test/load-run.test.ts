import { createServer, type RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Load } from '../src/load/load.ts';
import { LoadRun } from '../src/load/load-run.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

function run(origin: string, load: Partial<Load>) {
  const expectation = { status: 200, contains: 'fine' };
  const whole: Load = {
    origins: [origin],
    connections: 2,
    requests: [{ method: 'GET', path: '/', expect: expectation }],
    warmUpSeconds: 0.05,
    seconds: 0.3,
    ...load,
  };
  return new LoadRun(whole).run(() => undefined);
}

describe('LoadRun', () => {
  it('counts responses and measures their latency', async () => {
    const origin = await serve((_request, response) => setTimeout(() => response.end('fine'), 20));
    const { operations, p50Ms, problem } = await run(origin, {});
    expect(problem).toBeUndefined();
    expect(operations).toBeGreaterThan(0);
    expect(p50Ms).toBeGreaterThanOrEqual(15);
  });

  it.each([
    ['a wrong status', 500, 'fine', 'status 500 instead of 200'],
    ['a wrong body', 200, 'something else', 'a body without fine'],
  ])('reports %s', async (_name, status, body, problem) => {
    const origin = await serve((_request, response) => response.writeHead(status).end(body));
    expect((await run(origin, {})).problem).toContain(problem);
  });

  it('reports a body of an unexpected length', async () => {
    const origin = await serve((_request, response) => response.end('fine, and more'));
    const requests: Load['requests'] = [{ method: 'GET', path: '/', expect: { status: 200, bytes: 4 } }];
    expect((await run(origin, { requests })).problem).toContain('14 bytes instead of 4');
  });

  it('sends on each connection the token of the last response, and none twice', async () => {
    const used = new Set<string>();
    let repeated = 0;
    const origin = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const { token } = JSON.parse(body);
        if (used.has(token)) repeated += 1;
        used.add(token);
        response.end(JSON.stringify({ refresh_token: `${token}+`, said: 'fine' }));
      });
    });
    const chain = { tokens: ['a', 'b'], before: '{"token":"', after: '"}' };
    const requests: Load['requests'] = [{ method: 'POST', path: '/', expect: { status: 200 } }];
    expect((await run(origin, { chain, requests })).problem).toBeUndefined();
    expect(repeated).toBe(0);
    expect(used).toContain('a+');
    expect(used).toContain('b+');
  });

  it('measures latency from the fixed time of a request, also while the server stalls', async () => {
    const origin = await serve((_request, response) => setTimeout(() => response.end('fine'), 600));
    const { operations, p99Ms } = await run(origin, { connections: 1, perSecond: 50 });
    // The only response took 600 ms. All requests that were due in this time have waited.
    expect(operations).toBeGreaterThan(5);
    expect(p99Ms).toBeGreaterThan(300);
  });

  it('stops after a number of requests', async () => {
    const origin = await serve((_request, response) => response.end('fine'));
    expect(await run(origin, { total: 25, warmUpSeconds: 0 })).toMatchObject({ operations: 25 });
  });

  it('keeps the window open until the first response', async () => {
    const origin = await serve((_request, response) => setTimeout(() => response.end('fine'), 500));
    const { operations, seconds } = await run(origin, { warmUpSeconds: 0, seconds: 0.1 });
    expect(operations).toBeGreaterThan(0);
    expect(seconds).toBeGreaterThan(0.4);
  });

  it('sends the requests in turn, from the first one that the load names', async () => {
    const paths: string[] = [];
    const origin = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.end('fine');
    });
    const requests = ['/a', '/b', '/c'].map(
      (path) => ({ method: 'GET', path, expect: { status: 200 } }) as const,
    );
    const { sent } = await run(origin, {
      requests,
      firstRequest: 2,
      connections: 1,
      total: 5,
      warmUpSeconds: 0,
    });
    expect(sent).toBe(5);
    expect(paths).toEqual(['/c', '/a', '/b', '/c', '/a']);
  });
});
