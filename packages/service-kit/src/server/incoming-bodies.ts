import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../http/problem.ts';

const incomingMax = 32 * 1024 * 1024;
// Measured memory of a chunk in addition to its bytes. A body sent in single bytes uses hundreds of times its size.
const chunkOverhead = 600;

// Additional allowance for small chunks. Bodies with chunks of normal size never need it.
const smallBodyMemory = 256 * 1024;

interface IncomingBody {
  /** Used memory in bytes. */
  held: number;
  refuse: (problem: ProblemError) => void;
  stop: () => void;
}

/**
 * Limits the memory of incomplete request bodies. If their total exceeds the maximum, refuses the oldest body, so that
 * clients that stop in the middle of a body do not block other clients.
 */
export class IncomingBodies {
  readonly #max: number;
  /** Incomplete bodies in the order of their first bytes. */
  readonly #bodies = new Map<IncomingMessage, IncomingBody>();
  #held = 0;

  constructor(max = incomingMax) {
    this.#max = max;
  }

  /** Memory of all incomplete bodies in bytes. */
  get held(): number {
    return this.#held;
  }

  /**
   * Counts the memory of a body until it is complete or exceeds its limit. Returns a function that stops counting.
   * After a call of `refuse`, the caller must close the connection.
   */
  watch(request: IncomingMessage, limitBytes: number, refuse: IncomingBody['refuse']): () => void {
    let received = 0;
    const body: IncomingBody = {
      held: 0,
      refuse,
      stop: () => {
        request.off('data', onData);
        this.#held -= body.held;
        body.held = 0;
        this.#bodies.delete(request);
      },
    };
    const onData = (chunk: Buffer) => {
      if (received === 0) this.#bodies.set(request, body);
      received += chunk.length;
      // The rest of the body is discarded.
      if (received > limitBytes) return body.stop();
      body.held += chunk.length + chunkOverhead;
      this.#held += chunk.length + chunkOverhead;
      if (body.held > 2 * limitBytes + smallBodyMemory) {
        body.stop();
        refuse(tooManyChunks());
      } else if (this.#held > this.#max) this.#refuseOldest();
    };
    request.on('data', onData);
    request.once('close', body.stop);
    return body.stop;
  }

  #refuseOldest(): void {
    for (const { stop, refuse } of this.#bodies.values()) {
      if (this.#held <= this.#max) return;
      stop();
      refuse(arrivedTooSlowly());
    }
  }
}

function tooManyChunks(): ProblemError {
  return new ProblemError({
    status: 400,
    code: 'malformed_request',
    detail: 'The body has too many small chunks.',
    headers: { Connection: 'close' },
  });
}

function arrivedTooSlowly(): ProblemError {
  return new ProblemError({
    status: 408,
    code: 'request_timeout',
    detail: 'The body took too long to arrive while the server was receiving many bodies. Try again.',
    headers: { Connection: 'close', 'Retry-After': '1' },
  });
}
