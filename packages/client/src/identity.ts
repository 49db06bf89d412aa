import type {
  AuditEvent,
  AuditQuery,
  ClientDetails,
  ClientSecret,
  CreateClient,
  CreatedClient,
  EventFeedPage,
  Identity,
  IdentityEvent,
  Introspection,
  SessionDetails,
  UpdateClient,
} from '@tessera/contracts';
import { internalPaths } from '@tessera/contracts/requests';
import { type EventOptions, followEvents } from './event-feed.ts';
import type { IdentityInput } from './identity-input.ts';
import { type CallOptions, type PageSize, Transport, type TransportOptions } from './transport.ts';

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

/** The internal API of the identity service, for trusted backends. Throws a `ProblemError` for an error response. */
export class IdentityClient {
  readonly #api: Transport<typeof internalPaths>;

  constructor({ serviceToken, ...options }: IdentityClientOptions) {
    const headers = async () => ({ 'X-Service-Token': serviceToken });
    this.#api = new Transport(internalPaths, options, { headers });
  }

  /** Creates an identity. `password` is required unless `sso_provider` and `sso_id` are given. */
  create(identity: IdentityInput & { email: string }, options?: CallOptions): Promise<Identity> {
    return this.#api.call('createIdentity', { body: identity, ...options });
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
    const query = { ...filters, ids: filters.ids?.join() };
    return this.#api.pages('listIdentities', { query, ...options });
  }

  get(id: string, options?: CallOptions): Promise<Identity> {
    return this.#api.call('getIdentity', { params: { id }, ...options });
  }

  findByEmail(email: string, options?: CallOptions): Promise<Identity> {
    return this.#api.call('findIdentityByEmail', { params: { email }, ...options });
  }

  findBySso(provider: string, ssoId: string, options?: CallOptions): Promise<Identity> {
    const query = { provider, sso_id: ssoId };
    return this.#api.call('findIdentityBySso', { query, ...options });
  }

  /** Updates an identity. Omitted members stay unchanged. */
  update(id: string, change: IdentityInput, options?: CallOptions): Promise<Identity> {
    return this.#api.call('updateIdentity', { params: { id }, body: change, ...options });
  }

  /** Changes the password for a person who knows the current password. All sessions of the person end. */
  changePassword(
    id: string,
    current_password: string,
    new_password: string,
    options?: CallOptions,
  ): Promise<void> {
    const body = { current_password, new_password };
    return this.#api.call('changeIdentityPassword', { params: { id }, body, ...options });
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteIdentity', { params: { id }, ...options });
  }

  /** Iterates over the active sessions of an identity, newest first. */
  sessions(
    id: string,
    { limit, ...call }: PageSize & CallOptions = {},
  ): AsyncGenerator<SessionDetails, void> {
    return this.#api.pages('listSessions', { params: { id }, query: { limit }, ...call });
  }

  revokeSessions(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('revokeSessions', { params: { id }, isRepeatable: true, ...options });
  }

  revokeSession(id: string, session: string, options?: CallOptions): Promise<void> {
    return this.#api.call('revokeSession', { params: { id, session_id: session }, ...options });
  }

  /**
   * Returns whether a token is currently valid, with its claims. A refresh token does not authenticate a caller, so
   * check `token_use`.
   */
  introspect(token: string, options?: CallOptions): Promise<Introspection> {
    return this.#api.call('introspectToken', { body: { token }, isRepeatable: true, ...options });
  }

  /** Iterates over the audit trail, newest first. */
  auditEvents(filters: AuditFilters = {}, options?: CallOptions): AsyncGenerator<AuditEvent, void> {
    return this.#api.pages('listAuditEvents', { query: { ...filters }, ...options });
  }

  /** Registers an application. The result has its secret, this once. */
  createClient(client: CreateClient, options?: CallOptions): Promise<CreatedClient> {
    return this.#api.call('createClient', { body: client, ...options });
  }

  /** Iterates over the clients, sorted by id. */
  clients({ limit, ...call }: PageSize & CallOptions = {}): AsyncGenerator<ClientDetails, void> {
    return this.#api.pages('listClients', { query: { limit }, ...call });
  }

  client(client_id: string, options?: CallOptions): Promise<ClientDetails> {
    return this.#api.call('getClient', { params: { client_id }, ...options });
  }

  /** Changes a client. Omitted members stay unchanged. */
  updateClient(client_id: string, change: UpdateClient, options?: CallOptions): Promise<ClientDetails> {
    return this.#api.call('updateClient', { params: { client_id }, body: change, ...options });
  }

  /** Makes a new secret, which only the result has. The present one stays valid for a day. */
  rotateClientSecret(client_id: string, options?: CallOptions): Promise<ClientSecret> {
    return this.#api.call('rotateClientSecret', { params: { client_id }, ...options });
  }

  /** Disables a client for good. */
  disableClient(client_id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('disableClient', { params: { client_id }, ...options });
  }

  /**
   * Iterates over the pages of the feed of events, and polls for new ones. Store `next` of a page after its events are
   * processed, and pass it as `after` to continue. If `reset` is true, events were missed: read all identities again, and
   * continue with `next`. An outage of the service ends the iteration only before the first page.
   */
  events(options: EventOptions = {}): AsyncGenerator<EventFeedPage<IdentityEvent>, void> {
    return followEvents((call) => this.#api.call('listIdentityEvents', call), options);
  }
}
