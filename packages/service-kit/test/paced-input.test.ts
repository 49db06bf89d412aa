import { createHash, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { createHttpServer } from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function start(listener: RequestListener): Promise<number> {
  server = createHttpServer(listener, keepLogLines().logger);
  return listenOnFreePort(server);
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Encodes a body as chunks of random sizes. */
function chunked(body: Buffer, sizeMax: number): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < body.length; ) {
    const chunk = body.subarray(start, start + randomInt(1, sizeMax));
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
    start += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

describe('the input of a connection', () => {
  it('arrives intact: pipelined bodies of all sizes, before responses of all sizes', async () => {
    const port = await start(async (request, response) => {
      const hash = createHash('sha256');
      for await (const bytes of request) {
        hash.update(bytes);
        // A slow reader: the socket is paused.
        if (randomInt(20) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      response.end(`<${hash.digest('hex')}>${'a'.repeat(randomInt(100_000))}`);
    });
    const bodies = Array.from({ length: 60 }, (_, place) =>
      randomBytes(place % 3 === 0 ? 200_000 : randomInt(5_000)),
    );
    const requests = bodies.flatMap((body, place) => {
      const isLast = place === bodies.length - 1;
      const head = `POST / HTTP/1.1\r\nHost: a\r\n${isLast ? 'Connection: close\r\n' : ''}`;
      return place % 2 === 0
        ? [Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]
        : [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), chunked(body, 2_000)];
    });
    const socket = await openSocket(port);
    const received = readToEnd(socket);
    socket.write(Buffer.concat(requests));
    expect((await received).match(/<\w{64}>/g)).toEqual(bodies.map((body) => `<${hashOf(body)}>`));
  });

  it('is not parsed after a response that closes the connection', async () => {
    let requests = 0;
    const port = await start((_request, response) => {
      requests += 1;
      response.setHeader('Connection', 'close');
      response.end('ok');
    });
    const socket = await openSocket(port);
    const received = readToEnd(socket);
    const seen = countRequests();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_400));
    expect((await received).match(/200 OK/g)).toHaveLength(1);
    expect(requests).toBe(1);
    // The first parts have 6 KiB.
    expect(seen()).toBeLessThan(500);
  });

  it('is parsed up to 2 KiB while a request waits, then continued', async () => {
    const answers: ServerResponse[] = [];
    const port = await start((_request, response) => {
      answers.push(response);
      if (answers.length > 1) response.end('ok');
    });
    const socket = await openSocket(port);
    const seen = countRequests();
    const received = readToEnd(socket);
    const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    socket.write(get.repeat(900));
    await eventually(() => answers.length === 1);
    socket.write(get.repeat(99) + get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen()).toBe(Math.floor(2_048 / get.length));
    answers[0]?.end('ok');
    expect((await received).match(/200 OK/g)).toHaveLength(1_000);
    expect(seen()).toBe(1_000);
  });

  it('of many connections is parsed with ordinary requests in between', async () => {
    const order: string[] = [];
    const port = await start((request, response) => {
      order.push(request.url ?? '');
      response.end('ok');
    });
    const get = (path: string, close = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${close}\r\n`;
    const connections = await Promise.all(Array.from({ length: 101 }, () => openSocket(port)));
    const [other, ...many] = connections;
    if (other === undefined) throw new Error('no connection');
    // A server accepts one connection per iteration of the event loop.
    for (const socket of connections) {
      socket.write(get('/accepted'));
      await once(socket, 'data');
    }
    order.splice(0);
    const done = Promise.all(many.map(readToEnd));
    for (const socket of many) socket.write(get('/many').repeat(95) + get('/many', 'Connection: close\r\n'));
    const received = readToEnd(other);
    other.write(get('/other', 'Connection: close\r\n'));
    expect(await received).toContain('200 OK');
    await done;
    expect(order).toHaveLength(96 * 100 + 1);
    expect(order.indexOf('/other')).toBeLessThan(1_000);
  });
});

/** Counts the requests that Node's parser emits. */
function countRequests(): () => number {
  let requests = 0;
  server.prependListener('request', () => {
    requests += 1;
  });
  return () => requests;
}
