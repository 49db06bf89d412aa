import type { IncomingMessage } from 'node:http';
import { ProblemError } from './problem.ts';

const incomingMax = 32 * 1024 * 1024;
// Memory of a chunk besides its bytes, measured: a client that sends single bytes holds hundreds of times its body.
const chunkOverhead = 600;

// Bodies of normal chunks never need it.
const smallBodyMemory = 256 * 1024;

interface IncomingBody {
  /** Bytes of memory. */
  held: number;
  refuse: (problem: ProblemError) => void;
  stop: () => void;
}

/**
 * Bounds the memory of the request bodies that are incomplete. While they together exceed a maximum, refuses the one that
 * has been arriving longest: clients that stop in the middle of a body do not keep others from sending theirs.
 */
export class IncomingBodies {
  readonly #max: number;
  /** In the order of their first bytes. */
  readonly #bodies = new Map<IncomingMessage, IncomingBody>();
  #held = 0;

  constructor(max = incomingMax) {
    this.#max = max;
  }

  /** Bytes of memory that incomplete bodies hold. */
  get held(): number {
    return this.#held;
  }

  /**
   * Counts a body that is being read, until it is complete or exceeds its own limit. Returns a function that stops this.
   * After `refuse` was called, the connection must be closed.
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
      // The rest is discarded.
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
    detail: 'The body took too long to arrive while many others arrived. Try again.',
    headers: { Connection: 'close', 'Retry-After': '1' },
  });
}
