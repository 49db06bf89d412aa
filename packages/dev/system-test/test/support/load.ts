import { eventually } from '@tessera/stack/eventually';
import type { AxiosResponse } from 'axios';

/** A response, or the code of a connection error. */
export interface Outcome {
  what: string;
  status: number | string;
  retryAfter: string | undefined;
  code: string | undefined;
  /** The body of an error. */
  problem?: unknown;
}

const retryPauseMs = 50;

/** A client that sends one request after the other. */
export class Client {
  readonly outcomes: Outcome[] = [];
  readonly #report: (outcome: Outcome) => void;

  constructor(report: (outcome: Outcome) => void) {
    this.#report = report;
  }

  /** Sends a request and records its outcome; undefined after a connection error. */
  async send(what: string, request: () => Promise<AxiosResponse>): Promise<AxiosResponse | undefined> {
    try {
      const answer = await request();
      const { status, headers, data } = answer;
      const problem = status < 400 ? undefined : data;
      this.#keep({ what, status, retryAfter: headers['retry-after'], code: data?.code, problem });
      return answer;
    } catch (error) {
      const status = String((error as NodeJS.ErrnoException).code ?? error);
      this.#keep({ what, status, retryAfter: undefined, code: undefined });
      return undefined;
    }
  }

  /** Repeats a request until it succeeds, for at most four minutes. */
  async sendUntilSuccess(what: string, request: () => Promise<AxiosResponse>): Promise<AxiosResponse> {
    const isDone = (answer: AxiosResponse | undefined) => answer !== undefined && answer.status < 300;
    const answer = await eventually(() => this.send(what, request), isDone);
    if (answer === undefined) throw new Error(`${what} never got a response`);
    return answer;
  }

  #keep(outcome: Outcome): void {
    this.outcomes.push(outcome);
    this.#report(outcome);
  }
}

/** Clients that run until they are stopped. */
export class Load {
  /** The outcomes of all clients, in order. */
  readonly outcomes: Outcome[] = [];
  readonly #clients: Client[] = [];
  readonly #loops: Promise<void>[] = [];
  #running = true;

  /** Adds a client that repeats the step. */
  add(step: (client: Client) => Promise<void>): void {
    const client = new Client((outcome) => this.outcomes.push(outcome));
    this.#clients.push(client);
    const loop = this.#repeat(client, step);
    // stop() reports a client that fails.
    loop.catch(() => undefined);
    this.#loops.push(loop);
  }

  /** Waits until every client has this many more matching outcomes. */
  async everyClient(times: number, counts: (outcome: Outcome) => boolean = () => true): Promise<void> {
    const marks = this.#clients.map(({ outcomes }) => outcomes.length);
    const isDone = () =>
      this.#clients.every(
        ({ outcomes }, index) => outcomes.slice(marks[index]).filter(counts).length >= times,
      );
    await eventually(isDone);
  }

  /** Starts no further step and waits for the current ones. */
  async stop(): Promise<void> {
    this.#running = false;
    const ends = await Promise.allSettled(this.#loops);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #repeat(client: Client, step: (client: Client) => Promise<void>): Promise<void> {
    while (this.#running) await step(client);
  }
}

/** The number of outcomes by request and status, such as `create 201`. */
export function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { what, status } of outcomes) {
    const name = `${what} ${status}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

export function isSuccess({ status }: Outcome): boolean {
  return status === 200 || status === 201;
}

/** Whether a response is one that a client may get while the database is down. */
export function isDocumented(outcome: Outcome): boolean {
  const { status, retryAfter, code } = outcome;
  if (status === 503) return Number(retryAfter) > 0;
  // A repeated request whose first attempt is still in progress.
  if (status === 409) return code === 'request_in_progress' && Number(retryAfter) > 0;
  return isSuccess(outcome);
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryPauseMs));
}
