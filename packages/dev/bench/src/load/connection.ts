import { Client, type Dispatcher } from 'undici';
import type { LoadRequest } from './load.ts';

export interface Answer {
  status: number;
  body: Buffer;
}

// A login waits behind a hundred others.
const timeoutMs = 90_000;

/** One connection that is kept, with one request at a time on it. */
export class Connection {
  readonly #client: Client;

  constructor(origin: string) {
    this.#client = new Client(origin, { pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  }

  send({ method, path, headers, body }: LoadRequest, ownBody = body): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { method, path, headers: headers ?? {}, body: ownBody ?? null };
      this.#client.dispatch(options, new AnswerReader(resolve, reject));
    });
  }

  /** Whatever is unanswered fails. */
  destroy(): Promise<void> {
    return this.#client.destroy();
  }
}

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #status = 0;

  constructor(resolve: (answer: Answer) => void, reject: (error: Error) => void) {
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
