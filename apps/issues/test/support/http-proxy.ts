import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StepProxy, Steps } from './steps.ts';

/** Starts a proxy to an HTTP server. Each request is a step. Before steps are counted, the proxy responds 401. */
export async function startHttpProxy(target: string, steps: Steps): Promise<StepProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((request, response) => {
    const { method, url = '/', headers } = request;
    if (!steps.areCounted) {
      response.writeHead(401).end();
      return;
    }
    if (!steps.take(`${method} ${url.split('?')[0]?.replace(/\d+/g, 'N')}`)) return;
    const onward = send({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
