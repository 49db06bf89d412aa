import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenResponse } from '@tessera/contracts';
import { httpClient, type Stack } from '@tessera/stack';

/** A receiver of webhooks that accepts each message, and can keep the sender waiting. */
export class WebhookSink {
  readonly #server: Server;
  /** The `webhook-id` of each request. */
  readonly ids: string[] = [];
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => undefined;
  #waiting = 0;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      this.ids.push(idOf(request));
      this.#waiting += 1;
      await this.#gate;
      this.#waiting -= 1;
      request.resume();
      response.writeHead(204).end();
    });
  }

  /** Starts a receiver and registers it for all events. */
  static async start(stack: Stack, { access_token: token }: TokenResponse): Promise<WebhookSink> {
    const sink = new WebhookSink();
    sink.#server.listen(0, '127.0.0.1');
    await once(sink.#server, 'listening');
    const url = `http://127.0.0.1:${(sink.#server.address() as AddressInfo).port}/`;
    const staff = httpClient(stack.urls.issues, { headers: { Authorization: `Bearer ${token}` } });
    const { status, data } = await staff.post('/api/v1/webhooks/', { url });
    if (status !== 201) throw new Error(`the endpoint was not registered: ${JSON.stringify(data)}`);
    return sink;
  }

  /** The number of requests that wait for their response. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Responds to no request until `resume`. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  resume(): void {
    this.#open();
  }

  close(): void {
    this.resume();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function idOf({ headers }: IncomingMessage): string {
  return String(headers['webhook-id']);
}

/** A reader of the stream of events that reconnects as a browser does. */
export class StreamReader {
  readonly ids: number[] = [];
  resets = 0;
  #lastId: string | undefined;
  readonly #url: string;
  readonly #token: string;
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;

  constructor(stack: Stack, { access_token: token }: TokenResponse) {
    this.#url = `${stack.urls.issues}/api/v1/events/stream/`;
    this.#token = token;
    this.#loop = this.#follow();
  }

  /** Whether the stream has begun: it contains all later events. */
  get isOpen(): boolean {
    return this.#lastId !== undefined;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const headers = {
          Authorization: `Bearer ${this.#token}`,
          ...(this.#lastId === undefined ? {} : { 'Last-Event-ID': this.#lastId }),
        };
        const response = await fetch(this.#url, { headers, signal });
        if (response.status !== 200 || response.body === null) throw new Error(String(response.status));
        let rest = '';
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          const blocks = `${rest}${chunk}`.split('\n\n');
          rest = blocks.pop() ?? '';
          for (const block of blocks) {
            this.#lastId = /^id: (.*)$/m.exec(block)?.[1] ?? this.#lastId;
            if (/^event: reset$/m.test(block)) this.resets += 1;
            const event: { id?: number } = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}');
            if (event.id !== undefined) this.ids.push(event.id);
          }
        }
      } catch {
        // The service ends the stream, or refuses it, while the database is down.
      }
      await sleep(50);
    }
  }
}
