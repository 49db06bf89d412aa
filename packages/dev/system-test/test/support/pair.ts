import type { TokenResponse } from '@tessera/contracts';
import { httpClient, type Service, type StackOptions, startStack } from '@tessera/stack';
import type { AxiosInstance } from 'axios';

export type Pair = Awaited<ReturnType<typeof startPair>>;

/** The replicas of a service, one after the other, as a rollout takes them. */
function replicasOf(services: Service[]) {
  return {
    get log(): string {
      return services.map(({ log }) => log).join('');
    },
    /** Starts those that do not run, with further variables. */
    start: async (more: Record<string, string>) => {
      for (const service of services) await service.start(more);
    },
    kill: async () => {
      for (const service of services) await service.stop('SIGKILL');
    },
    /** Stops and starts each; their exit codes. */
    restart: async (more: Record<string, string>): Promise<(number | null)[]> => {
      const codes: (number | null)[] = [];
      for (const service of services) {
        codes.push(await service.stop());
        await service.start(more);
      }
      return codes;
    },
  };
}

/** Identity and issues, built, each with its own database on one PostgreSQL. */
export async function startPair(
  options: Pick<StackOptions, 'environment' | 'postgres' | 'replicas' | 'behindOneAddress'> = {},
) {
  const stack = await startStack(options);
  return {
    identity: replicasOf(stack.identities),
    issues: replicasOf(stack.issues),
    issuesUrl: stack.urls.issues,
    serviceToken: stack.serviceToken,
    addKey: (number: number) => stack.keys.add(number),
    internal: stack.internal,
    public: httpClient(stack.urls.identity),
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
