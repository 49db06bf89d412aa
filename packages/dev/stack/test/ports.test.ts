import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findFreePort, reservePort } from '../src/postgres/free-port.ts';
import { Balancer } from '../src/test-stack/balancer.ts';
import { httpClient } from '../src/test-stack/http-client.ts';

describe('a free port', () => {
  it('is reserved while its server is down, so that no other one gets it', async () => {
    const port = await findFreePort();
    expect(await reservePort(port)).toBe(false);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    expect(await reservePort(port)).toBe(false);
  });
});

describe('a balancer', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function listen(listener: RequestListener): Promise<number> {
    const server: Server = createServer(listener).listen(0, '127.0.0.1');
    closing.push(() => server.close());
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function balance(ports: readonly number[]) {
    const balancer = new Balancer(ports);
    const port = await findFreePort();
    await balancer.listen(port);
    closing.push(() => balancer.close());
    return httpClient(`http://127.0.0.1:${port}`);
  }

  it('sends every request to a replica that accepts it, also if many arrive at once', async () => {
    const client = await balance([await findFreePort(), await listen((_, response) => response.end())]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('ends the response of a replica that dies in it', async () => {
    const client = await balance([
      await listen((request, response) => {
        response.writeHead(200, { 'Content-Length': '10' });
        response.write('half', () => request.socket.destroy());
      }),
    ]);
    await expect(client.get('/')).rejects.toThrow(/aborted|socket hang up/);
  });
});
