import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * The fault of a request: the proxy forwards it late, loses it or its response, forwards it twice (like proxies that
 * repeat a request without a response), or runs an action between the server's response and the client.
 */
export type ProxyFault =
  | { kind: 'delay' | 'delay_response'; ms: number }
  | { kind: 'drop' | 'drop_response' | 'double' }
  | { kind: 'interfere'; act: () => Promise<void> };

interface ProxiedRequest {
  method: string;
  /** The path without the query. */
  path: string;
}

interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface FaultyProxy {
  url: string;
  /** Returns the number of received requests. */
  count: () => number;
  /** Returns the number of POST requests whose response took longer than `ms` milliseconds. */
  slowPosts: (ms: number) => number;
  close: () => Promise<void>;
}

/** Starts a proxy to an HTTP server. `faultOf` returns the fault of each request. */
export async function startFaultyProxy(
  target: string,
  faultOf: (request: ProxiedRequest) => ProxyFault | undefined,
): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  let received = 0;
  const postDurations: number[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    received += 1;
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    const forward = async (): Promise<Reply> => {
      const onward = send({ hostname, port, method, path: url, headers }).end(body);
      const sentAt = performance.now();
      const [reply]: IncomingMessage[] = await once(onward, 'response');
      if (method === 'POST') postDurations.push(performance.now() - sentAt);
      if (reply === undefined) throw new Error('no response');
      return { status: reply.statusCode ?? 502, headers: reply.headers, body: await buffer(reply) };
    };
    const fault = faultOf({ method, path: url.split('?')[0] ?? '' });
    if (fault?.kind === 'drop') return void request.socket.destroy();
    if (fault?.kind === 'delay') await pause(fault.ms);
    const reply = await forward();
    if (fault?.kind === 'double') await forward();
    if (fault?.kind === 'interfere') await fault.act();
    if (fault?.kind === 'delay_response') await pause(fault.ms);
    if (fault?.kind === 'drop_response') return void request.socket.destroy();
    response.writeHead(reply.status, reply.headers).end(reply.body);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => received,
    slowPosts: (ms) => postDurations.filter((duration) => duration > ms).length,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
