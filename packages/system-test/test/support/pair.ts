import type { TokenResponse } from '@tessera/contracts';
import type { AxiosInstance } from 'axios';
import { httpClient } from '../../src/stack/http-client.ts';
import { first, type StackOptions, startStack } from '../../src/stack/stack.ts';

export type Pair = Awaited<ReturnType<typeof startPair>>;

/** Identity and issues, built, each with its own database on one PostgreSQL. */
export async function startPair(options: Pick<StackOptions, 'environment' | 'postgres'> = {}) {
  const stack = await startStack(options);
  const [identity, issues] = [first(stack.identities), first(stack.issues)];
  return {
    identity,
    issues,
    issuesUrl: issues.url,
    serviceToken: stack.serviceToken,
    addKey: (number: number) => stack.keys.add(number),
    internal: stack.internal,
    public: httpClient(identity.url),
    sql: stack.sql,
    stop: stack.stop,
  };
}

/** A person at a browser: signs in at identity, and works on issues with that token. */
export class Person {
  readonly #pair: Pick<Pair, 'public' | 'issuesUrl'>;
  readonly email: string;
  readonly #password: string;
  tokens: TokenResponse | undefined;

  constructor(pair: Pick<Pair, 'public' | 'issuesUrl'>, email: string, password: string) {
    this.#pair = pair;
    this.email = email;
    this.#password = password;
  }

  async signIn(): Promise<this> {
    const { status, data } = await this.#pair.public.post('/token', {
      grant_type: 'password',
      email: this.email,
      password: this.#password,
    });
    if (status !== 200) throw new Error(`${this.email} could not sign in: ${status}`);
    this.tokens = data;
    return this;
  }

  /** Issues' API with this person's token. */
  get issues(): AxiosInstance {
    const token = this.tokens?.access_token;
    return httpClient(`${this.#pair.issuesUrl}/api/v1`, { headers: { Authorization: `Bearer ${token}` } });
  }
}
