import { Session } from '@tessera/client/issues';
import type { TokenResponse } from '@tessera/contracts';
import { httpClient, type Service, type StackOptions, startStack } from '@tessera/stack';
import type { AxiosInstance } from 'axios';

export type Pair = Awaited<ReturnType<typeof startPair>>;

/** The replicas of a service, handled one after the other as in a rollout. */
function replicasOf(services: Service[]) {
  return {
    /** The address of each replica. */
    urls: services.map(({ url }) => url),
    get log(): string {
      return services.map(({ log }) => log).join('');
    },
    /** Starts the stopped replicas with additional variables. */
    start: async (more: Record<string, string>) => {
      for (const service of services) await service.start(more);
    },
    kill: async () => {
      for (const service of services) await service.stop('SIGKILL');
    },
    /** Restarts each replica. @returns the exit codes */
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

/** The built services, each with its own database on one PostgreSQL. */
export async function startPair(
  options: Pick<StackOptions, 'environment' | 'postgres' | 'replicas' | 'behindOneAddress'> = {},
) {
  const stack = await startStack(options);
  return {
    identity: replicasOf(stack.identities),
    issues: replicasOf(stack.issues),
    issuesUrl: stack.urls.issues,
    identityUrl: stack.urls.identity,
    serviceToken: stack.serviceToken,
    databases: stack.databases,
    addKey: (number: number) => stack.keys.add(number),
    internal: stack.internal,
    public: httpClient(stack.urls.identity),
    sql: stack.sql,
    stop: stack.stop,
  };
}

/** A user who signs in at identity and works on issues with the token. */
export class Person {
  readonly #pair: Pick<Pair, 'identityUrl' | 'issuesUrl'>;
  readonly email: string;
  readonly #password: string;
  tokens: TokenResponse | undefined;

  constructor(pair: Pick<Pair, 'identityUrl' | 'issuesUrl'>, email: string, password: string) {
    this.#pair = pair;
    this.email = email;
    this.#password = password;
  }

  async signIn(): Promise<this> {
    const { identityUrl } = this.#pair;
    const session = await Session.signIn({ identityUrl, email: this.email, password: this.#password });
    this.tokens = session.tokens;
    return this;
  }

  /** The issues API with this user's token. */
  get issues(): AxiosInstance {
    const token = this.tokens?.access_token;
    return httpClient(`${this.#pair.issuesUrl}/api/v1`, { headers: { Authorization: `Bearer ${token}` } });
  }
}
