import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

/** One address for several replicas, as a Service of Kubernetes is: each request goes to the next one that listens. */
export class Balancer {
  readonly #ports: readonly number[];
  readonly #server = createServer((asked, answer) => this.#forward(asked, answer, this.#ports.length));
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

  // A connection that nobody takes is given to the next replica; one that breaks off later, to nobody.
  #forward(asked: IncomingMessage, answer: ServerResponse, tries: number): void {
    const port = this.#ports[this.#next % this.#ports.length];
    this.#next += 1;
    const { method, url, headers } = asked;
    const forwarded = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
    forwarded.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && tries > 1) this.#forward(asked, answer, tries - 1);
      else answer.destroy();
    });
    forwarded.once('response', (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(answer);
    });
    // Only once somebody listens is the body read, so that it is there for the next one otherwise.
    forwarded.once('socket', (socket) => socket.once('connect', () => asked.pipe(forwarded)));
  }
}
