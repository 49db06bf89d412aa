import type { ServerResponse } from 'node:http';
import { ProblemError } from '@tessera/service-kit';

interface RequestSharesOptions {
  /** Maximum number of requests in progress per caller. */
  max: number;
  /** Maximum number of waiting requests per caller. */
  waitingMax?: number;
  /** Maximum wait of a request, in milliseconds. */
  waitMs?: number;
  /**
   * How long the handler of a disconnected client can continue, in milliseconds: at least the time limit of a statement.
   */
  abandonedMs?: number;
  /** The refusal of a request that would wait too long; by default a 429 `too_many_requests`. */
  problem?: (() => ProblemError) | undefined;
}

interface Share {
  open: number;
  /** Waiting requests in the order of arrival. */
  waiting: Set<() => void>;
}

/**
 * Limits the number of requests of a caller in progress, so that one caller cannot occupy all database connections.
 * Further requests wait before their body is read.
 */
export class RequestShares {
  readonly #options: Required<Omit<RequestSharesOptions, 'problem'>> & Pick<RequestSharesOptions, 'problem'>;
  readonly #shares = new Map<string, Share>();

  constructor({ max, waitingMax = 100, waitMs = 5_000, abandonedMs = 6_000, problem }: RequestSharesOptions) {
    this.#options = { max, waitingMax, waitMs, abandonedMs, problem };
  }

  /**
   * Starts a request, which ends when its response is sent, or when its handler has ended after the client disconnected.
   * Returns a promise if the request must wait; it rejects with a 429 problem if the wait is too long. Throws the problem
   * if too many requests wait.
   */
  enter(caller: string, response: ServerResponse): Promise<void> | undefined {
    // The client has disconnected while it was authenticated. The response does not emit `close` again.
    if (response.closed) throw this.#tooMany();
    let share = this.#shares.get(caller);
    if (share === undefined) {
      share = { open: 0, waiting: new Set() };
      this.#shares.set(caller, share);
    }
    if (share.open < this.#options.max) return this.#start(caller, share, response);
    if (share.waiting.size >= this.#options.waitingMax) throw this.#tooMany();
    return this.#wait(caller, share, response);
  }

  #start(caller: string, share: Share, response: ServerResponse): undefined {
    share.open += 1;
    let isOpen = true;
    const end = () => {
      if (!isOpen) return;
      isOpen = false;
      share.open -= 1;
      const [next] = share.waiting;
      next?.();
      if (share.open === 0) this.#shares.delete(caller);
    };
    response.once('close', () => {
      if (response.writableEnded) return end();
      // Its statement continues. Emitted by `end()`, which is not called if the body was incomplete.
      response.once('prefinish', end);
      setTimeout(end, this.#options.abandonedMs).unref();
    });
  }

  #wait(caller: string, share: Share, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        share.waiting.delete(start);
        clearTimeout(timer);
        response.off('close', giveUp);
      };
      const start = () => {
        leave();
        this.#start(caller, share, response);
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(this.#tooMany());
      };
      const timer = setTimeout(giveUp, this.#options.waitMs);
      share.waiting.add(start);
      response.once('close', giveUp);
    });
  }

  #tooMany(): ProblemError {
    const { problem } = this.#options;
    if (problem !== undefined) return problem();
    return new ProblemError({
      status: 429,
      code: 'too_many_requests',
      detail: `At most ${this.#options.max} requests at the same time.`,
      headers: { 'Retry-After': '1' },
    });
  }
}
