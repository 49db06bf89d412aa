import { randomBytes } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { createHttpServer, defaultHttpTimeouts, everyone, type Handler, route } from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';
import { startApp, testOperation } from './support/test-app.ts';

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
// Larger than the buffers of both sockets.
const large = 'a'.repeat(16 * 1024 * 1024);
const reason = 'the client does not read: connection closed';

let server: Server;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  server.close();
});

async function start(
  listener: RequestListener,
  { drainTimeoutMs = 60_000, unsentMax = 1024 ** 3 }: { drainTimeoutMs?: number; unsentMax?: number } = {},
) {
  const { logger, lines } = keepLogLines();
  server = createHttpServer(listener, logger, {
    timeouts: { ...defaultHttpTimeouts, drainTimeoutMs },
    unsentMax,
  });
  const port = await listenOnFreePort(server);
  /** Opens a connection that sends requests and does not read. */
  const stall = async (requests: string) => {
    const socket = await openSocket(port);
    socket.pause();
    socket.on('error', () => undefined);
    sockets.push(socket);
    socket.write(requests);
    return socket;
  };
  return { port, stall, lines };
}

const openConnections = () =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

const waitForConnections = (wanted: number) => eventually(openConnections, (count) => count === wanted);

describe('a client that does not read its response', () => {
  it('is disconnected after the drain timeout, and a client that reads is not', async () => {
    const { port, stall, lines } = await start((_request, response) => response.end(large), {
      drainTimeoutMs: 1_500,
    });
    await stall(get('/'));
    await waitForConnections(1);
    const reader = await openSocket(port);
    sockets.push(reader);
    const received = readToEnd(reader);
    reader.write(get('/'));
    await eventually(() => lines.some(({ msg }) => msg === reason));
    await waitForConnections(1);
    expect(lines.filter(({ msg }) => msg === reason)).toMatchObject([{ level: 'info', reason: 'timeout' }]);
    reader.end(get('/').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect((await received).length).toBeGreaterThan(2 * large.length);
  });

  it('is disconnected earlier when unsent responses exceed their maximum, the oldest first', async () => {
    const { stall, lines } = await start((_request, response) => response.end(large), {
      unsentMax: 3.5 * large.length,
    });
    const first = await stall(get('/'));
    await waitForConnections(1);
    for (let connection = 0; connection < 4; connection += 1) await stall(get('/'));
    await eventually(() => lines.filter(({ msg }) => msg === reason).length === 2);
    expect(new Set(lines.map((line) => line.reason))).toEqual(new Set(['memory']));
    first.resume();
    await eventually(() => first.destroyed);
    expect(await openConnections()).toBe(3);
  });

  it('has its pipelined requests processed one at a time', async () => {
    let started = 0;
    const { port, stall } = await start(
      (request, response) => {
        started += 1;
        if (request.url === '/large') response.end(large);
        else setTimeout(() => response.end(`answer to ${request.url}`), 20);
      },
      { drainTimeoutMs: 1_000 },
    );
    await stall(get('/large').repeat(100));
    await waitForConnections(1);
    await waitForConnections(0);
    expect(started).toBe(1);
    const socket = await openSocket(port);
    const received = readToEnd(socket);
    socket.write(get('/1') + get('/2') + get('/3').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect((await received).match(/answer to \/\d/g)).toEqual([
      'answer to /1',
      'answer to /2',
      'answer to /3',
    ]);
  });

  it('has one response compressed at a time, whose bytes count as unsent', async () => {
    // Larger than the buffers of both sockets, even compressed.
    const body = { text: randomBytes(12 * 1024 * 1024).toString('base64') };
    let started = 0;
    const operation = testOperation({ path: '/random' });
    const answer: Handler<typeof operation> = () => {
      started += 1;
      return { status: 200, body };
    };
    const compressed = route(operation, { access: everyone, compress: () => true }, answer);
    const { stall, lines } = await start(startApp([compressed]).app, { unsentMax: 1 });
    const accepting = get('/random').replace('\r\n\r\n', '\r\nAccept-Encoding: gzip\r\n\r\n');
    for (let connection = 0; connection < 3; connection += 1) await stall(accepting.repeat(50));
    await eventually(() => lines.filter(({ msg }) => msg === reason).length === 3);
    expect(new Set(lines.map((line) => line.reason))).toEqual(new Set(['memory']));
    await waitForConnections(0);
    expect(started).toBe(3);
  });

  it('serves other connections between pipelined requests', async () => {
    const order: string[] = [];
    const { port } = await start((request, response) => {
      order.push(request.url ?? '');
      response.end('ok');
    });
    const [many, other] = await Promise.all([openSocket(port), openSocket(port)]);
    const last = get('/last').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
    const received = readToEnd(many);
    many.write(get('/many').repeat(900) + last);
    other.write(get('/other'));
    expect((await received).match(/200 OK/g)).toHaveLength(901);
    expect(order.filter((url) => url === '/many')).toHaveLength(900);
    expect(order.indexOf('/other')).toBeLessThan(50);
  });
});
