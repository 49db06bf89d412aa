import { Agent, get, IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import express from 'express';
import { createHttpServer } from '../src/index.ts';
import { type Child, startChild } from './support/child-process.ts';
import { keepLogLines } from './support/log-lines.ts';
import { listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';

const children: Child[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.process.kill('SIGKILL');
});

async function startService(options: object = {}): Promise<Child & { port: number }> {
  const child = startChild('serve-process.ts', options);
  children.push(child);
  await eventually(() => child.output().includes('listening'));
  const port = child.lines()[0]?.port;
  if (typeof port !== 'number') throw new Error(child.output() + child.errors());
  return { ...child, port };
}

interface Answer {
  status: number | undefined;
  connection: string | undefined;
  body: string;
}

function ask(port: number, path: string, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get(
      { host: '127.0.0.1', port, path, ...(agent === undefined ? {} : { agent }) },
      (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode, connection: response.headers.connection, body });
        });
      },
    );
    request.on('error', reject);
  });
}

const messagesOf = (child: Child) => child.lines().map((line) => line.msg);

describe('serve', () => {
  it('on SIGTERM finishes accepted requests, refuses new ones, releases its resources, and exits 0', async () => {
    const service = await startService();
    const accepted = ask(service.port, '/slow', new Agent({ keepAlive: true }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    service.process.kill('SIGTERM');
    await eventually(() => service.output().includes('draining'));
    await expect(ask(service.port, '/')).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    expect(await accepted).toMatchObject({ status: 200, body: 'slow but whole' });
    expect(await service.ended).toBe(0);
    expect(messagesOf(service)).toEqual(['listening', 'draining', 'released']);
  });

  it('closes a keep-alive connection after its last response', async () => {
    const service = await startService();
    const socket = await openSocket(service.port);
    const all = readToEnd(socket);
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 100));
    service.process.kill('SIGTERM');
    expect(await all).toContain('slow but whole');
    // An open connection would last until the shutdown timeout, which exits with 1.
    expect(await service.ended).toBe(0);
  });

  it('closes a connection without a request', async () => {
    const service = await startService();
    const socket = await openSocket(service.port);
    // The server has accepted the connection when it answers on a later one.
    await ask(service.port, '/');
    service.process.kill('SIGTERM');
    await readToEnd(socket);
    expect(await service.ended).toBe(0);
  });

  it('keeps serving while it is not ready, and sends Connection: close', async () => {
    const service = await startService({ shutdownDelayMs: 800 });
    const agent = new Agent({ keepAlive: true });
    expect(await ask(service.port, '/readyz', agent)).toMatchObject({
      status: 200,
      connection: 'keep-alive',
    });
    service.process.kill('SIGTERM');
    await eventually(() => service.output().includes('draining'));
    expect(await ask(service.port, '/readyz', agent)).toMatchObject({ status: 503, connection: 'close' });
    expect(await ask(service.port, '/')).toMatchObject({ status: 200, body: 'ok', connection: 'close' });
    expect(await service.ended).toBe(0);
  });

  it('shuts down on SIGINT, and only once for several signals', async () => {
    const service = await startService({ closeMs: 300 });
    service.process.kill('SIGINT');
    await eventually(() => service.output().includes('draining'));
    service.process.kill('SIGTERM');
    service.process.kill('SIGINT');
    expect(await service.ended).toBe(0);
    expect(messagesOf(service)).toEqual(['listening', 'draining', 'released']);
  });

  it('exits 1 when a response takes longer than the shutdown timeout', async () => {
    const service = await startService({ shutdownTimeoutMs: 400 });
    const hanging = ask(service.port, '/never').catch((error: Error) => error.message);
    await new Promise((resolve) => setTimeout(resolve, 100));
    service.process.kill('SIGTERM');
    expect(await service.ended).toBe(1);
    expect(messagesOf(service)).toEqual(['listening', 'draining', 'shutdown took too long']);
    expect(await hanging).toMatch(/hang up|ECONNRESET/);
  });

  it('exits 1 when releasing its resources fails, and logs the reason', async () => {
    const service = await startService({ closeMs: -1 });
    service.process.kill('SIGTERM');
    expect(await service.ended).toBe(1);
    expect(service.lines().at(-1)).toMatchObject({
      msg: 'shutdown failed',
      err: { message: 'the pool did not close' },
    });
  });

  it('does not start on a port that is in use', async () => {
    const first = await startService();
    const second = startChild('serve-process.ts', { port: first.port });
    children.push(second);
    expect(await second.ended).toBe(1);
    expect(second.errors()).toContain('EADDRINUSE');
    expect(await ask(first.port, '/')).toMatchObject({ status: 200 });
  });
});

describe('createHttpServer', () => {
  it('creates requests and responses that Express does not have to change, below Node 24', async () => {
    const app = express();
    const prototypes: unknown[][] = [];
    const remember = (request: IncomingMessage, response: ServerResponse) => {
      prototypes.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
      expect([request instanceof IncomingMessage, response instanceof ServerResponse]).toEqual([true, true]);
    };
    app.use((request, response) => {
      remember(request, response);
      expect([request.app, response.app]).toEqual([app, app]);
      response.status(201).json({ path: request.path, type: request.is('json') });
    });
    const server = createHttpServer(
      (request, response) => {
        remember(request, response);
        app(request, response);
      },
      keepLogLines().logger,
      { app },
    );
    const url = `http://127.0.0.1:${await listenOnFreePort(server)}/things?a=b`;
    const body = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } };
    for (const request of [body, body]) {
      const response = await fetch(url, request);
      expect([response.status, await response.json()]).toEqual([201, { path: '/things', type: 'json' }]);
    }
    server.closeAllConnections();
    server.close();
    const [before = [], inHandler = [], again = []] = prototypes;
    expect(prototypes).toHaveLength(4);
    expect(again).toEqual(before);
    const isBelow24 = Number.parseInt(process.versions.node, 10) < 24;
    expect([before[0] === inHandler[0], before[1] === inHandler[1]]).toEqual([isBelow24, isBelow24]);
  });
});
