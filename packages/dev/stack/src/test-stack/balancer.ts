import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { pipeline } from 'node:stream';

/** One address for several replicas, like a Kubernetes Service: forwards the requests round-robin. */
export class Balancer {
  readonly #ports: readonly number[];
  readonly #server = createServer((request, response) => {
    const { length } = this.#ports;
    const ports = this.#ports.map((_, index) => this.#ports[(this.#next + index) % length] ?? 0);
    this.#next += 1;
    this.#forward(request, response, ports);
  });
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

  // A refused connection is retried on each other replica; a connection that breaks later is not.
  #forward(request: IncomingMessage, response: ServerResponse, [port, ...others]: readonly number[]): void {
    const { method, url, headers } = request;
    const forwarded = sendRequest({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
    forwarded.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && others.length > 0) this.#forward(request, response, others);
      else response.destroy();
    });
    forwarded.once('response', (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers);
      // A replica that dies within a response ends the client's connection, too.
      pipeline(received, response, () => undefined);
    });
    // The body is read only after a connection exists, so that it is still available for the next replica.
    forwarded.once('socket', (socket) => socket.once('connect', () => request.pipe(forwarded)));
  }
}
