import { Agent } from 'node:http';
import { httpClient, type Service, type Stack } from '@tessera/stack';
import type { AxiosInstance, AxiosResponse } from 'axios';
import type { Tally } from './tally.ts';

/** The replicas of a service, round-robin. */
class RoundRobin {
  readonly #clients: AxiosInstance[];
  #turn = 0;

  constructor(services: readonly Service[], agent: Agent) {
    // The timeout is longer than every timeout of the services.
    this.#clients = services.map(({ url }) => httpClient(url, { httpAgent: agent, timeout: 30_000 }));
  }

  next(): AxiosInstance {
    this.#turn += 1;
    const client = this.#clients[this.#turn % this.#clients.length];
    if (client === undefined) throw new Error('The service has no replica.');
    return client;
  }
}

/** Both services behind a round-robin; counts every request. */
export class Targets {
  readonly #agent: Agent = new Agent({ keepAlive: true });
  readonly #identity: RoundRobin;
  readonly #issues: RoundRobin;
  readonly #tally: Tally;

  constructor(stack: Stack, tally: Tally) {
    this.#identity = new RoundRobin(stack.identities, this.#agent);
    this.#issues = new RoundRobin(stack.issues, this.#agent);
    this.#tally = tally;
  }

  /** Sends a request to the service's next replica; undefined after a connection error. */
  async send(
    service: 'identity' | 'issues',
    action: string,
    expected: readonly number[],
    request: (client: AxiosInstance) => Promise<AxiosResponse>,
  ): Promise<AxiosResponse | undefined> {
    const replicas = service === 'identity' ? this.#identity : this.#issues;
    try {
      const answer = await request(replicas.next());
      this.#tally.add(action, answer.status, expected);
      return answer;
    } catch (error) {
      const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
      this.#tally.add(action, String(code ?? error), expected);
      return undefined;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
