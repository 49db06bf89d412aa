import type { AxiosResponse } from 'axios';

/** One answer as its client saw it, or the code of the error that came instead of it. */
export interface Outcome {
  what: string;
  status: number | string;
  retryAfter: string | undefined;
  code: string | undefined;
}

const retryPauseMs = 50;

/** One client of a load: it sends one request after the other. */
export class Client {
  readonly outcomes: Outcome[] = [];
  readonly #tell: (outcome: Outcome) => void;

  constructor(tell: (outcome: Outcome) => void) {
    this.#tell = tell;
  }

  /** Sends, and keeps what came of it; undefined where no answer came. */
  async send(what: string, request: () => Promise<AxiosResponse>): Promise<AxiosResponse | undefined> {
    try {
      const answer = await request();
      const { status, headers, data } = answer;
      this.#keep({ what, status, retryAfter: headers['retry-after'], code: data?.code });
      return answer;
    } catch (error) {
      const status = String((error as NodeJS.ErrnoException).code ?? error);
      this.#keep({ what, status, retryAfter: undefined, code: undefined });
      return undefined;
    }
  }

  /** Sends again and again until it succeeds, as a client with patience does: a minute's. */
  async insist(what: string, request: () => Promise<AxiosResponse>): Promise<AxiosResponse> {
    const isDone = (answer: AxiosResponse | undefined) => answer !== undefined && answer.status < 300;
    const answer = await eventually(() => this.send(what, request), isDone);
    if (answer === undefined) throw new Error(`${what} was never answered`);
    return answer;
  }

  #keep(outcome: Outcome): void {
    this.outcomes.push(outcome);
    this.#tell(outcome);
  }
}

/** Clients that go on until they are stopped. */
export class Load {
  /** Of all clients, in the order in which they came. */
  readonly outcomes: Outcome[] = [];
  readonly #clients: Client[] = [];
  readonly #loops: Promise<void>[] = [];
  #running = true;

  /** Adds a client that takes the step over and over. */
  add(step: (client: Client) => Promise<void>): void {
    const client = new Client((outcome) => this.outcomes.push(outcome));
    this.#clients.push(client);
    const loop = this.#repeat(client, step);
    // A client that gives up is told of by stop().
    loop.catch(() => undefined);
    this.#loops.push(loop);
  }

  /** Waits until every client has had so many more outcomes that count. */
  async everyClient(times: number, counts: (outcome: Outcome) => boolean = () => true): Promise<void> {
    const marks = this.#clients.map(({ outcomes }) => outcomes.length);
    const isDone = () =>
      this.#clients.every(
        ({ outcomes }, index) => outcomes.slice(marks[index]).filter(counts).length >= times,
      );
    await eventually(async () => isDone(), Boolean);
  }

  /** Takes no further step, and waits for those that were begun. */
  async stop(): Promise<void> {
    this.#running = false;
    const ends = await Promise.allSettled(this.#loops);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #repeat(client: Client, step: (client: Client) => Promise<void>): Promise<void> {
    while (this.#running) await step(client);
  }
}

/** How often each request was answered how, such as `create 201`. */
export function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { what, status } of outcomes) {
    const name = `${what} ${status}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/**
 * Asks again until the answer is good.
 * @throws Error when it is not within a minute: what a test waits for comes late on a loaded machine, or never
 */
export async function eventually<Answer>(
  ask: () => Promise<Answer>,
  isGood: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isGood(answer)) return answer;
    if (Date.now() > deadline) throw new Error('what was waited for did not happen within a minute');
    await pause();
  }
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryPauseMs));
}
