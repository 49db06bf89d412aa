import type { ServerResponse } from 'node:http';
import type { Logger } from '../observability/logger.ts';

/** Maximum number of characters of all unsent responses, each of at most three bytes in UTF-8. */
export const unsentMax = 32 * 1024 * 1024;

interface UnsentOptions {
  /** How long a response may stay unsent, in milliseconds. */
  drainTimeoutMs: number;
  max?: number | undefined;
  logger: Logger;
}

/**
 * Limits the memory of responses that clients do not read. Closes the connection of a response that is not sent in
 * time. If the unsent responses together exceed the maximum, closes the connections of the oldest responses.
 */
export class UnsentResponses {
  readonly #options: UnsentOptions & { max: number };
  /** The time at which each response ended, the oldest first. */
  readonly #endedAt = new Map<ServerResponse, number>();
  readonly #onEnd: (this: ServerResponse) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UnsentOptions) {
    this.#options = { ...options, max: options.max ?? unsentMax };
    const add = (response: ServerResponse) => this.#add(response);
    this.#onEnd = function onEnd() {
      add(this);
    };
  }

  /** Call this before the response ends. */
  watch(response: ServerResponse): void {
    // Emitted by `end()`, after the first attempt to send.
    response.on('prefinish', this.#onEnd);
  }

  #add(response: ServerResponse): void {
    if (unsentBy(response) === 0) return;
    this.#endedAt.set(response, performance.now());
    response.once('close', () => this.#endedAt.delete(response));
    this.#timer ??= setInterval(() => this.#closeLate(), Math.min(1_000, this.#options.drainTimeoutMs / 4));
    this.#timer.unref();
    this.#closeOldest();
  }

  #closeOldest(): void {
    let unsent = 0;
    for (const response of this.#endedAt.keys()) unsent += unsentBy(response);
    for (const response of this.#endedAt.keys()) {
      if (unsent <= this.#options.max) return;
      unsent -= unsentBy(response);
      this.#close(response, 'memory');
    }
  }

  #closeLate(): void {
    const latest = performance.now() - this.#options.drainTimeoutMs;
    for (const [response, endedAt] of this.#endedAt) {
      if (endedAt > latest) break;
      this.#close(response, 'timeout');
    }
    if (this.#endedAt.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #close(response: ServerResponse, reason: 'memory' | 'timeout'): void {
    this.#endedAt.delete(response);
    const { requestId } = response.req;
    this.#options.logger.info(
      { request_id: requestId, reason },
      'the client does not read: connection closed',
    );
    response.socket?.destroy();
  }
}

function unsentBy({ socket }: ServerResponse): number {
  return socket?.writableLength ?? 0;
}
