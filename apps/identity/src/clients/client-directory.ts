import { uuid } from '@tessera/contracts';
import type { ClientRepository } from './client.repository.ts';
import type { Client } from './client.ts';

/** How long another process may use a client after its change. */
const maxAgeMs = 4_000;
const maxClients = 1_000;

/** The clients that are not disabled, for requests of the protocol. Each is read at most every few seconds. */
export class ClientDirectory {
  readonly #repository: Pick<ClientRepository, 'find'>;
  readonly #known = new Map<string, { client: Promise<Client | undefined>; readAt: number }>();

  constructor(repository: Pick<ClientRepository, 'find'>) {
    this.#repository = repository;
  }

  /** Returns undefined for an unknown or disabled client. */
  async find(id: string): Promise<Client | undefined> {
    const parsed = uuid().safeParse(id);
    // The id of a client has one spelling, so that the audience of a token has one, too.
    if (!parsed.success || parsed.data !== id) return undefined;
    const client = await this.#read(id);
    return client === undefined || client.disabledAt !== null ? undefined : client;
  }

  /** Forgets a client that has changed. */
  drop(id: string): void {
    this.#known.delete(id);
  }

  #read(id: string): Promise<Client | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && performance.now() - known.readAt < maxAgeMs) return known.client;
    const client = this.#repository.find(id);
    const entry = { client, readAt: performance.now() };
    // Any browser can ask for unknown ids, and a failure of the database must not last.
    const forget = () => {
      if (this.#known.get(id) === entry) this.#known.delete(id);
    };
    client.then((found) => (found === undefined ? forget() : undefined), forget);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= maxClients && oldest !== undefined) this.#known.delete(oldest);
    this.#known.delete(id);
    this.#known.set(id, entry);
    return client;
  }
}
