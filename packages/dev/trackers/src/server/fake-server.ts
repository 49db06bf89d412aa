import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

/** An HTTP server on 127.0.0.1 that can stop and restart on the same port. */
export class FakeServer {
  readonly #http: Server;
  #port: number;
  #outage = new AbortController();

  constructor(listener: RequestListener, port: number) {
    this.#http = createServer(listener);
    this.#port = port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Aborted at the next stop. */
  get outage(): AbortSignal {
    return this.#outage.signal;
  }

  async start(): Promise<void> {
    if (this.#http.listening) return;
    this.#outage = new AbortController();
    this.#http.listen(this.#port, '127.0.0.1');
    await once(this.#http, 'listening');
    const address = this.#http.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  /** Refuses new connections and destroys open ones. */
  async stop(): Promise<void> {
    if (!this.#http.listening) return;
    this.#outage.abort();
    const closed = once(this.#http, 'close');
    this.#http.close();
    this.#http.closeAllConnections();
    await closed;
  }
}
