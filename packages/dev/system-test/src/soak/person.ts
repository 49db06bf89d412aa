import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenResponse } from '@tessera/contracts';
import { sendInvalidRequest } from './invalid-requests.ts';
import type { Targets } from './targets.ts';

const pauseMs = 20;
const actionsPerToken = 20;
const tokensPerSession = 8;

/** A user who works on issues, signs in and refreshes like a browser; and an attacker who guesses passwords. */
export class Person {
  readonly #targets: Targets;
  readonly #name: string;
  readonly #password: string;
  /** The user's own address, so that failures of others do not count against it. */
  readonly #address: string;
  #issue: { id: string; status: string } | undefined;

  constructor(targets: Targets, { number, password }: { number: number; password: string }) {
    this.#targets = targets;
    this.#name = `person-${number}`;
    this.#password = password;
    this.#address = `198.51.100.${number}`;
  }

  get email(): string {
    return `${this.#name}@example.com`;
  }

  /** Works until stopped. */
  async work(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      let tokens = await this.#signIn();
      for (let token = 0; token < tokensPerSession && tokens !== undefined && !isOver(); token += 1) {
        for (let action = 0; action < actionsPerToken && !isOver(); action += 1) {
          await this.#act(action, tokens.access_token);
          await sleep(pauseMs);
        }
        tokens = await this.#refresh(tokens);
      }
    }
  }

  async #signIn(): Promise<TokenResponse | undefined> {
    const body = { grant_type: 'password', email: this.email, password: this.#password };
    const headers = { 'X-Forwarded-For': this.#address };
    const answer = await this.#targets.send('identity', 'login', [200], (client) =>
      client.post('/token', body, { headers }),
    );
    if (answer?.status !== 200) await sleep(1000);
    return answer?.status === 200 ? answer.data : undefined;
  }

  async #refresh({ refresh_token }: TokenResponse): Promise<TokenResponse | undefined> {
    const answer = await this.#targets.send('identity', 'refresh', [200], (client) =>
      client.post('/token/refresh', { refresh_token }),
    );
    return answer?.status === 200 ? answer.data : undefined;
  }

  // Twenty actions in a fixed order, so that every run has the same mix.
  async #act(action: number, token: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` };
    const issues = '/api/v1/issues/';
    const pages = '/api/v1/issue-pages/';
    const mine = `${issues}${this.#issue?.id ?? 1}/`;
    const send = this.#targets.send.bind(this.#targets, 'issues');
    if (action === 0) {
      const body = { title: `Soaked by ${this.#name}`, description: 'Words to look for.' };
      const created = await send('create', [201], (client) => client.post(issues, body, { headers }));
      this.#issue = created?.status === 201 ? created.data : undefined;
    } else if (action === 5 || action === 15) {
      const status = action === 5 ? 'IN_PROGRESS' : 'RESOLVED';
      await send('status', [200], (client) => client.post(`${mine}status/`, { status }, { headers }));
    } else if (action % 5 === 2) {
      const body = { body: 'Still wet.' };
      await send('comment', [201], (client) => client.post(`${mine}comments/`, body, { headers }));
    } else if (action % 5 === 3) {
      await send('get', [200], (client) => client.get(mine, { headers }));
    } else if (action === 4) {
      await this.#targets.send('identity', 'userinfo', [200], (client) =>
        client.get('/userinfo', { headers }),
      );
    } else if (action === 9) {
      await sendInvalidRequest(this.#targets, token);
    } else if (action === 14) {
      await this.#guess();
    } else {
      const list = action % 2 === 0 ? `${issues}?limit=20` : `${pages}?page=1&page_size=10&search=soaked`;
      await send('list', [200], (client) => client.get(list, { headers }));
    }
  }

  // Guesses come from another address and must not lock the user out.
  async #guess(): Promise<void> {
    const body = { grant_type: 'password', email: this.email, password: 'a wrong guess' };
    const headers = { 'X-Forwarded-For': '203.0.113.66' };
    await this.#targets.send('identity', 'wrong password', [401, 429], (client) =>
      client.post('/token', body, { headers }),
    );
  }
}
