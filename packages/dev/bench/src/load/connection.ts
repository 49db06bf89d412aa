import { Client, type Dispatcher } from 'undici';
import type { Expectation, LoadRequest } from './load.ts';

export interface HttpResponse {
  status: number;
  body: Buffer;
}

// Long enough for the login storm, in which a login waits for a hundred other logins.
const timeoutMs = 90_000;

/** A keep-alive connection with one request at a time. */
export class Connection {
  readonly #client: Client;

  constructor(origin: string) {
    this.#client = new Client(origin, { pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  }

  /** @param body replaces the body of the request */
  send(request: LoadRequest, body = request.body): Promise<HttpResponse> {
    const { method, path, headers = {} } = request;
    return new Promise((resolve, reject) => {
      this.#client.dispatch(
        { method, path, headers, body: body ?? null },
        new ResponseReader(resolve, reject),
      );
    });
  }

  /** Closes the connection. A request without a response fails. */
  destroy(): Promise<void> {
    return this.#client.destroy();
  }
}

class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #status = 0;

  constructor(resolve: (response: HttpResponse) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }
}

/** The difference between a response and its expectation, if any. It does not contain the body, which can have tokens. */
export function problemOf({ status, body }: HttpResponse, expected: Expectation): string | undefined {
  if (status !== expected.status) return `status ${status} instead of ${expected.status}`;
  if (expected.bytes !== undefined && body.length !== expected.bytes) {
    return `a body of ${body.length} bytes instead of ${expected.bytes}`;
  }
  if (expected.contains !== undefined && !body.includes(expected.contains)) {
    return `a body without ${expected.contains}`;
  }
  return undefined;
}
