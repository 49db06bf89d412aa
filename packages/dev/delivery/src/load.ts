import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

interface LoadOptions {
  identityUrl: string;
  issuesUrl: string;
  /** The users of the load, created with this password; the first is staff. */
  emails: readonly string[];
  password: string;
  requestsPerSecond: number;
}

export interface Phase {
  name: string;
  requests: number;
  /** The number of failures by reason: an unexpected status or a connection error. */
  failures: Record<string, number>;
  slowestMs: number;
}

interface Tokens {
  access: string;
  refresh: string;
}

/** Sends requests at a steady rate, whether or not the previous ones have been answered. */
export class Load {
  /** The ids of the issues whose creation was acknowledged. */
  readonly created: string[] = [];
  readonly #options: LoadOptions;
  readonly #sessions = new Map<string, Tokens>();
  readonly #phases: Phase[] = [];
  readonly #pending = new Set<Promise<void>>();
  #running = true;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#begin('signing in');
    for (const email of this.#options.emails) await this.#signIn(email);
    this.#loop = this.#run();
  }

  /** Counts the requests during the work separately. */
  async during(name: string, work: () => Promise<unknown>): Promise<Phase> {
    const phase = this.#begin(name);
    await work();
    await sleep(3000);
    this.#begin('between');
    await Promise.all(this.#pending);
    return phase;
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    await Promise.all(this.#pending);
  }

  #begin(name: string): Phase {
    const phase = { name, requests: 0, failures: {}, slowestMs: 0 };
    this.#phases.push(phase);
    return phase;
  }

  async #run(): Promise<void> {
    const { emails, requestsPerSecond } = this.#options;
    const startedAt = performance.now();
    for (let count = 0; this.#running; count += 1) {
      await sleep(Math.max(0, startedAt + (count * 1000) / requestsPerSecond - performance.now()));
      const email = emails[count % emails.length] ?? '';
      const task = this.#act(email, Math.floor(count / emails.length) % 10).finally(() =>
        this.#pending.delete(task),
      );
      this.#pending.add(task);
    }
  }

  // Ten requests of a user: mostly reads, some writes, a refresh, a new session. Staff create users, which makes issues
  // call identity's internal API.
  async #act(email: string, turn: number): Promise<void> {
    const { identityUrl, issuesUrl, emails } = this.#options;
    const session = this.#sessions.get(email);
    if (session === undefined || turn === 9) return this.#signIn(email);
    const authorization = { Authorization: `Bearer ${session.access}` };
    if (turn === 8) return this.#refresh(email, session);
    if (turn % 4 === 3 && email === emails[0]) {
      const body = {
        email: `new-${randomBytes(6).toString('hex')}@example.com`,
        password: randomBytes(12).toString('hex'),
      };
      return void (await this.#send(`${issuesUrl}/api/v1/users/`, 201, authorization, body));
    }
    if (turn % 4 === 1) return void (await this.#send(`${identityUrl}/userinfo`, 200, authorization));
    if (turn % 4 === 2) return this.#createIssue(authorization);
    await this.#send(`${issuesUrl}/api/v1/issues/?limit=20`, 200, authorization);
  }

  async #createIssue(authorization: Record<string, string>): Promise<void> {
    const url = `${this.#options.issuesUrl}/api/v1/issues/`;
    const { id } = Object(await this.#send(url, 201, authorization, { title: 'Load' }));
    if (typeof id === 'string') this.created.push(id);
  }

  async #signIn(email: string): Promise<void> {
    const { identityUrl, password } = this.#options;
    this.#keep(
      email,
      await this.#send(`${identityUrl}/token`, 200, {}, { grant_type: 'password', email, password }),
    );
  }

  async #refresh(email: string, { refresh }: Tokens): Promise<void> {
    // Removed during the refresh, because a refresh token works once.
    this.#sessions.delete(email);
    this.#keep(
      email,
      await this.#send(`${this.#options.identityUrl}/token/refresh`, 200, {}, { refresh_token: refresh }),
    );
  }

  #keep(email: string, answer: unknown): void {
    if (typeof answer !== 'object' || answer === null) return;
    const { access_token: access, refresh_token: refresh } = answer as Record<string, unknown>;
    if (typeof access === 'string' && typeof refresh === 'string')
      this.#sessions.set(email, { access, refresh });
  }

  async #send(url: string, wanted: number, headers: Record<string, string>, body?: object): Promise<unknown> {
    const phase = this.#phases.at(-1);
    if (phase === undefined) throw new Error('The load has not started.');
    phase.requests += 1;
    const startedAt = performance.now();
    const failed = (reason: string) => {
      const name = `${body === undefined ? 'GET' : 'POST'} ${new URL(url).pathname}: ${reason}`;
      phase.failures[name] = (phase.failures[name] ?? 0) + 1;
    };
    try {
      const response = await fetch(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(15_000),
      });
      const answer: unknown = await response.json();
      if (response.status !== wanted) failed(String(response.status));
      return answer;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      failed(cause instanceof Error ? `${cause.name} ${cause.message}` : String(cause));
      return undefined;
    } finally {
      phase.slowestMs = Math.max(phase.slowestMs, Math.round(performance.now() - startedAt));
    }
  }
}
