import type {
  AuditEvent,
  AuditQuery,
  EventFeedPage,
  Identity,
  IdentityEvent,
  Introspection,
  SessionDetails,
} from '@tessera/contracts';
import { type EventOptions, followEvents } from './event-feed.ts';
import type { IdentityInput } from './identity-input.ts';
import {
  type Call,
  type CallOptions,
  type PageSize,
  pathSegment,
  Transport,
  type TransportOptions,
} from './transport.ts';

export type { IdentityInput } from './identity-input.ts';
export { isProblem, type OperationId, type ProblemCode, ProblemError } from './problem-error.ts';
export type { CallOptions, TransportOptions } from './transport.ts';

// In a browser, the user could read the service token and act as every user.
if ('window' in globalThis)
  throw new Error('@tessera/client/identity is for servers: it has the service token');

export interface IdentityClientOptions extends TransportOptions {
  /** The service token, a secret of the backend. */
  serviceToken: string;
}

export interface AuditFilters
  extends PageSize,
    Pick<AuditQuery, 'identity_id' | 'type' | 'outcome' | 'actor'> {
  after?: Date | string;
  before?: Date | string;
}

const identities = '/internal/identities';

/** The internal API of the identity service, for trusted backends. Throws a `ProblemError` for an error response. */
export class IdentityClient {
  readonly #transport: Transport;

  constructor({ serviceToken, ...options }: IdentityClientOptions) {
    this.#transport = new Transport(options, { headers: async () => ({ 'X-Service-Token': serviceToken }) });
  }

  /** Creates an identity. `password` is required unless `sso_provider` and `sso_id` are given. */
  create(identity: IdentityInput & { email: string }, options?: CallOptions): Promise<Identity> {
    return this.#call({ method: 'POST', path: identities, body: identity, ...options });
  }

  /**
   * Iterates over the identities, sorted by id. `after`: starts after this id. `ids`: from 1 to 100 ids; deleted and
   * unknown ones are left out. `search`: words, each a prefix of a word of the username, the display name or the e-mail
   * address.
   */
  list(
    filters: { after?: string; ids?: readonly string[]; search?: string } & PageSize = {},
    options?: CallOptions,
  ): AsyncGenerator<Identity, void> {
    return this.#transport.pages(identities, { ...filters, ids: filters.ids?.join() }, options);
  }

  get(id: string, options?: CallOptions): Promise<Identity> {
    return this.#call({ method: 'GET', path: pathOf(id), ...options });
  }

  findByEmail(email: string, options?: CallOptions): Promise<Identity> {
    return this.#call({ method: 'GET', path: pathOf('by-email', email), ...options });
  }

  findBySso(provider: string, ssoId: string, options?: CallOptions): Promise<Identity> {
    const query = { provider, sso_id: ssoId };
    return this.#call({ method: 'GET', path: pathOf('by-sso', 'lookup'), query, ...options });
  }

  /** Updates an identity. Omitted members stay unchanged. */
  update(id: string, change: IdentityInput, options?: CallOptions): Promise<Identity> {
    return this.#call({ method: 'PUT', path: pathOf(id), body: change, ...options });
  }

  /** Changes the password for a person who knows the current password. All sessions of the person end. */
  async changePassword(
    id: string,
    current_password: string,
    new_password: string,
    options?: CallOptions,
  ): Promise<void> {
    const body = { current_password, new_password };
    await this.#transport.send({ method: 'POST', path: pathOf(id, 'password'), body, ...options });
  }

  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /** Iterates over the active sessions of an identity, newest first. */
  sessions(id: string, options: PageSize & CallOptions = {}): AsyncGenerator<SessionDetails, void> {
    const { limit, ...call } = options;
    return this.#transport.pages(pathOf(id, 'sessions'), { limit }, call);
  }

  async revokeSessions(id: string, options?: CallOptions): Promise<void> {
    const path = pathOf(id, 'sessions');
    await this.#transport.send({ method: 'DELETE', path, isRepeatable: true, ...options });
  }

  async revokeSession(id: string, session: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'DELETE', path: pathOf(id, 'sessions', session), ...options });
  }

  /**
   * Returns whether a token is currently valid, with its claims. A refresh token does not authenticate a caller, so
   * check `token_use`.
   */
  introspect(token: string, options?: CallOptions): Promise<Introspection> {
    const call = {
      method: 'POST',
      path: '/internal/introspect',
      body: { token },
      isRepeatable: true,
    } as const;
    return this.#call({ ...call, ...options });
  }

  /** Iterates over the audit trail, newest first. */
  auditEvents(filters: AuditFilters = {}, options?: CallOptions): AsyncGenerator<AuditEvent, void> {
    return this.#transport.pages('/internal/audit-events', { ...filters }, options);
  }

  /**
   * Iterates over the pages of the feed of events, and polls for new ones. Store `next` of a page after its events are
   * processed, and pass it as `after` to continue. If `reset` is true, events were missed: read all identities again, and
   * continue with `next`. An outage of the service ends the iteration only before the first page.
   */
  events(options: EventOptions = {}): AsyncGenerator<EventFeedPage<IdentityEvent>, void> {
    return followEvents(this.#transport, '/internal/events', options);
  }

  async #call<Body>(call: Call): Promise<Body> {
    return (await this.#transport.send(call)).body as Body;
  }
}

function pathOf(...segments: string[]): string {
  return [identities, ...segments.map(pathSegment)].join('/');
}
