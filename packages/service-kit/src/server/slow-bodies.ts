import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Refuses requests whose bodies do not arrive in time. Node's own `requestTimeout` is the same for all requests, but a file may take
 * as long as its bytes arrive at a minimum speed.
 */
export class SlowBodies {
  readonly #timeoutMs: number;
  readonly #refuse: (error: NodeJS.ErrnoException, socket: Socket) => void;
  /** Requests whose bodies are not complete. Weak: a refused one must not keep its bytes until its connection has closed. */
  readonly #pending = new Set<{ request: WeakRef<IncomingMessage>; startedAt: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, refuse: (error: NodeJS.ErrnoException, socket: Socket) => void) {
    this.#timeoutMs = timeoutMs;
    this.#refuse = refuse;
  }

  watch(request: IncomingMessage): void {
    const { headers } = request;
    if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return;
    const pending = { request: new WeakRef(request), startedAt: performance.now() };
    this.#pending.add(pending);
    const end = () => this.#pending.delete(pending);
    request.once('end', end);
    request.once('close', end);
    this.#timer ??= setInterval(() => this.#check(), Math.min(2_000, this.#timeoutMs / 4)).unref();
  }

  #check(): void {
    const now = performance.now();
    for (const pending of this.#pending) {
      const request = pending.request.deref();
      if (request === undefined) {
        this.#pending.delete(pending);
        continue;
      }
      const { startedAt } = pending;
      const { pace, complete, socket } = request;
      const earned = pace === undefined ? 0 : (pace.arrived / pace.bytesPerSecond) * 1_000;
      if (!complete && now - startedAt <= this.#timeoutMs + earned) continue;
      this.#pending.delete(pending);
      if (complete || socket.destroyed) continue;
      const error = new Error('Request timeout');
      this.#refuse(Object.assign(error, { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
    }
    if (this.#pending.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
