import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';

/** One address for several replicas, like a Kubernetes Service: forwards the requests round-robin. */
export class Balancer {
  readonly #ports: readonly number[];
  readonly #server = createServer((request, response) =>
    this.#forward(request, response, this.#ports.length),
  );
  #next = 0;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  // A refused connection is retried on the next replica; a connection that breaks later is not.
  #forward(request: IncomingMessage, response: ServerResponse, tries: number): void {
    const port = this.#ports[this.#next % this.#ports.length];
    this.#next += 1;
    const { method, url, headers } = request;
    const forwarded = sendRequest({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
    forwarded.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && tries > 1) this.#forward(request, response, tries - 1);
      else response.destroy();
    });
    forwarded.once('response', (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(response);
    });
    // The body is read only after a connection exists, so that it is still available for the next replica.
    forwarded.once('socket', (socket) => socket.once('connect', () => request.pipe(forwarded)));
  }
}
