import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { first, httpClient, type Service, type Stack, startStack } from '@tessera/stack';
import { RawSocket } from './support/raw-socket.ts';

const headersTimeoutMs = 1500;
const requestTimeoutMs = 3000;
const times = {
  HTTP_HEADERS_TIMEOUT_MS: String(headersTimeoutMs),
  HTTP_REQUEST_TIMEOUT_MS: String(requestTimeoutMs),
};
// A tenth is reserved for other descriptors of the two processes.
const connections = Math.floor(Math.min(5000, openFilesLimit() * 0.9));

// The service closes every one of these connections; a hanging one would exceed the test's timeout.
describe.each(['identity', 'issues'] as const)('slow and malformed clients of %s', (name) => {
  let stack: Stack;
  let service: Service;
  let sockets: RawSocket[] = [];
  const open = async () => {
    const socket = await RawSocket.open(service.port);
    sockets.push(socket);
    return socket;
  };

  beforeAll(async () => {
    stack = await startStack({
      replicas: { identity: 1, issues: name === 'issues' ? 1 : 0 },
      environment: { identity: times, issues: times },
    });
    service = first(name === 'identity' ? stack.identities : stack.issues);
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    expect(await stack.stop()).toEqual(stack.issues.length === 1 ? [0, 0] : [0]);
  });

  // A route that reads the body before other checks.
  const bodyPath = '/token';
  // Readiness has a time limit, so a check of it can fail on a slow machine.
  const isServed = async () => {
    const { status } = await httpClient(service.url).get('/healthz');
    expect(status).toBe(200);
    await service.untilReady();
  };

  it('get 408 for headers that never end, and are disconnected', async () => {
    const slow = await Promise.all(Array.from({ length: 50 }, open));
    for (const socket of slow) socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    const trickles = slow.map((socket) => socket.trickle('X-Padding: a\r\n', 200));
    await isServed();
    await Promise.all(trickles);
    expect(new Set(slow.map(({ statuses }) => statuses.join()))).toEqual(new Set(['408']));
    await isServed();
  });

  it('get 408 for bodies that never end, and are disconnected', async () => {
    const slow = await Promise.all(Array.from({ length: 50 }, open));
    const length = name === 'identity' ? 'Content-Length: 10000' : 'Transfer-Encoding: chunked';
    const piece = name === 'identity' ? ' ' : '1\r\n \r\n';
    for (const socket of slow) {
      socket.write(
        `POST ${bodyPath} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
      );
    }
    const trickles = slow.map((socket) => socket.trickle(piece, 200));
    await isServed();
    await Promise.all(trickles);
    // The issues service does not have this path and responds without waiting for the body.
    const answer = name === 'identity' ? '408' : expect.stringMatching(/^404(,408)?$/);
    for (const { statuses } of slow) expect(statuses.join()).toEqual(answer);
    await isServed();
  });

  it(`are disconnected when ${connections} connections send nothing, and do not block others`, async () => {
    const held = () => readdirSync(`/proc/${service.pid}/fd`).length;
    const idle: RawSocket[] = [];
    let peak = 0;
    while (idle.length < connections) {
      const more = Math.min(500, connections - idle.length);
      idle.push(...(await Promise.all(Array.from({ length: more }, open))));
      await isServed();
      peak = Math.max(peak, held());
    }
    // If opening takes long, the first connections are closed before the last ones are open.
    expect(peak).toBeGreaterThan(connections / 5);
    await Promise.all(idle.map(({ closed }) => closed));
    await isServed();
    expect(held()).toBeLessThan(100);
  });

  it('get 431 for too many headers', async () => {
    const socket = await open();
    socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`);
    await socket.closed;
    expect(socket.statuses).toEqual([431]);
    await isServed();
  });

  it('get 431 for a URL beyond the limit, and 404 for a long one', async () => {
    const huge = await open();
    huge.write(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await huge.closed;
    expect(huge.statuses).toEqual([431]);
    const { status } = await httpClient(service.url).get(`/${'a'.repeat(10_000)}`);
    expect(status).toBe(404);
  });

  it.each([
    [
      'garbage after a request',
      'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\x00\xff garbage\r\n\r\n',
      [200, 400],
    ],
    ['garbage alone', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', [400]],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', [400]],
    [
      'two lengths',
      'POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
      [400],
    ],
    [
      'a length and chunks, which two servers could read differently',
      'POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n',
      [400],
    ],
    ['an unknown version', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n', [400]],
  ])('with %s are refused and cut off', async (_case, text, statuses) => {
    const socket = await open();
    socket.write(text);
    await socket.closed;
    expect(socket.statuses).toEqual(statuses);
    await isServed();
  });

  it('get the responses to a thousand pipelined requests in order, and are disconnected then', async () => {
    const request = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
    const socket = await open();
    socket.write(request.repeat(1_100));
    await socket.closed;
    expect(socket.statuses).toEqual(Array(1_000).fill(200));
    await isServed();
  });
});

/** The soft limit, which the services inherit. */
function openFilesLimit(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1024);
}
