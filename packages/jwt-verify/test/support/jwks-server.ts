import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Responder = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server that records requests and answers as a test configures it. */
export interface JwksServer {
  url: string;
  requests: IncomingMessage[];
  respondWith(responder: Responder): void;
  /** Answers 200 with these keys. */
  publish(keys: unknown[], headers?: Record<string, string>): void;
  close(): Promise<void>;
}

export async function startJwksServer(): Promise<JwksServer> {
  let responder: Responder = (_request, response) => response.writeHead(500).end();
  const requests: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    responder(request, response);
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    respondWith(next) {
      responder = next;
    },
    publish(keys, headers = {}) {
      responder = (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json', ...headers });
        response.end(JSON.stringify({ keys }));
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
