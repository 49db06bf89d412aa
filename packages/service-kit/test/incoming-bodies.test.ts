import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { createHttpServer } from '../src/index.ts';
import { IncomingBodies } from '../src/server/index.ts';
import { type Child, startChild } from './support/child-process.ts';
import { keepLogLines } from './support/log-lines.ts';
import { listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';

const sockets: Socket[] = [];
let server: Server | undefined;
let child: Child | undefined;
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  child?.process.kill('SIGKILL');
  child = undefined;
});

/** Opens a connection and sends a header and the first bytes of a body. */
async function send(port: number, length: number, bytes: Buffer | string) {
  const socket = await openSocket(port);
  sockets.push(socket);
  const answer = readToEnd(socket);
  socket.write(
    `POST /bodies HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  );
  socket.write(bytes);
  return { socket, answer };
}

async function start(max: number, limitBytes = 1024 * 1024) {
  const bodies = new IncomingBodies(max);
  server = createHttpServer((request, response) => {
    bodies.watch(request, limitBytes, ({ status, headers }) => response.writeHead(status, headers).end());
    request.on('end', () => {
      if (!response.writableEnded) response.end(`complete: ${request.url}`);
    });
  }, keepLogLines().logger);
  return { bodies, port: await listenOnFreePort(server) };
}

describe('IncomingBodies', () => {
  it('refuses the oldest body when all bodies together exceed the maximum', async () => {
    const { bodies, port } = await start(100_000);
    const first = await send(port, 50_000, 'a'.repeat(40_000));
    await eventually(() => bodies.held >= 40_000);
    const second = await send(port, 50_000, 'a'.repeat(40_000));
    await eventually(() => bodies.held >= 80_000);
    const third = await send(port, 30_000, 'a'.repeat(30_000));
    expect(await first.answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/);
    second.socket.write('a'.repeat(10_000));
    for (const { socket, answer } of [second, third]) {
      await eventually(() => socket.bytesRead > 0);
      socket.end();
      expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    }
    expect(bodies.held).toBe(0);
  });

  it('counts the memory of a body until the body is complete or its connection closes', async () => {
    const { bodies, port } = await start(100_000);
    const { socket } = await send(port, 50_000, 'a'.repeat(10_000));
    await eventually(() => bodies.held >= 10_000);
    const { socket: other } = await send(port, 20_000, 'a'.repeat(20_000));
    await eventually(() => other.bytesRead > 0);
    await eventually(() => bodies.held < 20_000);
    socket.destroy();
    await eventually(() => bodies.held === 0);
  });

  it('does not count a body that exceeds its own limit, because the rest is discarded', async () => {
    const { bodies, port } = await start(100_000, 10_000);
    const { socket } = await send(port, 1_000_000, 'a'.repeat(999_999));
    await eventually(() => socket.bytesWritten > 999_999);
    socket.end('a');
    await eventually(() => bodies.held === 0);
  });

  it.each([
    ['refuses a body of many small chunks', 100 * 1024 * 1024, 400],
    ['counts more for a body of many small chunks', 1024 * 1024, 408],
  ])('%s', async (_what, max, status) => {
    const { port } = await start(max);
    const socket = await openSocket(port);
    sockets.push(socket);
    const answer = readToEnd(socket);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write('1\r\na\r\n'.repeat(10_000));
    expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  // The README of the identity service has the numbers. A chunk that TCP splits counts twice.
  it.each([
    [480, 1, 16, 200],
    [500, 1, 16, 400],
    [450, 36, 16, 200],
    [640, 1, 64, 200],
    [660, 1, 64, 400],
    [530, 123, 64, 200],
  ])(
    'responds to %i chunks of %i bytes in a body of at most %i KiB with %i',
    async (count, size, limitKiB, status) => {
      const { port } = await start(100 * 1024 * 1024, limitKiB * 1024);
      const socket = await openSocket(port);
      sockets.push(socket);
      const answer = readToEnd(socket);
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(`${size.toString(16)}\r\n${'a'.repeat(size)}\r\n`.repeat(count));
      socket.write('0\r\n\r\n');
      expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    },
  );

  it('accepts a body of chunks of 1 KiB', async () => {
    const { port } = await start(100 * 1024 * 1024);
    const socket = await openSocket(port);
    sockets.push(socket);
    const answer = readToEnd(socket);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(`400\r\n${'a'.repeat(1024)}\r\n`.repeat(1_000));
    socket.write('0\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

const clients = 300;
const length = 1024 * 1024;

describe('a service', () => {
  it(`uses little memory for ${clients} clients with incomplete bodies of 1 MiB, and serves other clients`, async () => {
    const service = startChild('bodies-process.ts', {});
    child = service;
    await eventually(() => service.output().includes('listening'));
    const port = Number(service.lines()[0]?.port);
    const memory = () => {
      const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
    };
    const write = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/bodies`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify('a'.repeat(10_000)),
      });
      return [response.status, await response.json()];
    };
    expect(await write()).toEqual([200, 10_000]);
    const before = memory();
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, memory());
    }, 20);
    const unfinished = Buffer.alloc(length - 1, ' ');
    const open = new Set<Socket>();
    const answers: Promise<string>[] = [];
    for (let count = 0; count < clients; count += 1) {
      const { socket, answer } = await send(port, length, unfinished);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      answers.push(answer);
      if (count % 10 === 0) expect(await write()).toEqual([200, 10_000]);
    }
    await eventually(() => open.size < 32);
    expect(await write()).toEqual([200, 10_000]);
    clearInterval(sampler);
    for (const socket of open) socket.destroy();
    const statuses = (await Promise.all(answers)).map((answer) => answer.slice(9, 12));
    // A client that is refused while it sends may lose the response.
    expect(new Set(statuses)).toEqual(new Set(['408', '']));
    expect(peak - before).toBeLessThan(160);
  });
});
