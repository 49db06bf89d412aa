import { type AuditType, type ClientKind, type FieldError, isPrivateScheme } from '@tessera/contracts';
import { ProblemError, type RequestOrigin, validationProblem } from '@tessera/service-kit';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { ClientRepository } from './client.repository.ts';
import type { Client, ClientInput, ClientSettings } from './client.ts';
import type { ClientDirectory } from './client-directory.ts';
import { readClientKey } from './client-keys.ts';
import { newSecret, rotationMs, sha256 } from './client-secret.ts';

interface ClientServiceDependencies {
  repository: ClientRepository;
  directory: ClientDirectory;
  /** The audience of the service's own access tokens. */
  audience: string | readonly string[];
  /** It, and the one of OpenID Connect below it, are no audiences of a client: refresh tokens are for it. */
  issuer: string | undefined;
}

export type NewClient = ClientInput & { name: string; kind: ClientKind };

/** An id and a secret that a deployment has made before, so that it can give them to the application. */
export interface GivenCredentials {
  id?: string | undefined;
  secret?: string | undefined;
}

/** Registers, changes and disables clients, for trusted backends and the command line. */
export class ClientService {
  readonly #dependencies: ClientServiceDependencies;

  constructor(dependencies: ClientServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the client and its secret, if it has one. No other method returns the secret. */
  async create(
    { kind, ...given }: NewClient,
    origin: RequestOrigin,
    credentials: GivenCredentials = {},
  ): Promise<{ client: Client; secret: string | undefined }> {
    const settings: ClientSettings = { ...defaultsOf(kind), ...definedOnly(given), name: given.name };
    const { id } = credentials;
    if (id !== undefined && [this.#dependencies.audience].flat().includes(id))
      throw validationProblem([{ field: 'client_id', message: 'must not be an audience' }]);
    await this.#assertValid(kind, settings);
    const needsSecret = kind !== 'public' && settings.jwks === null;
    const secret = needsSecret ? (credentials.secret ?? newSecret()) : undefined;
    const client = await this.#dependencies.repository.create(
      { ...settings, id, kind, secretHash: secret === undefined ? null : sha256(secret) },
      (created) => auditEvent('client.created', created, origin, { kind, name: settings.name }),
    );
    return { client, secret };
  }

  async update(id: string, change: ClientInput, origin: RequestOrigin): Promise<Client> {
    const current = await this.find(id);
    const given = definedOnly(change);
    const fields = Object.keys(given);
    if (current.disabledAt !== null) throw disabledProblem();
    if (fields.length === 0) return current;
    await this.#assertValid(current.kind, { ...current, ...given });
    const hasNoSecret = current.secretHash === null && current.kind !== 'public';
    if (hasNoSecret && given.jwks === null)
      throw validationProblem([{ field: 'jwks', message: 'cannot be null: rotate the secret first' }]);
    return this.#change(id, given, auditEvent('client.updated', id, origin, { fields }));
  }

  /** The present secret stays valid for a day, so that the application can be changed without an interruption. */
  async rotateSecret(
    id: string,
    origin: RequestOrigin,
  ): Promise<{ secret: string; previousUntil: Date | null }> {
    const current = await this.find(id);
    if (current.disabledAt !== null) throw disabledProblem();
    if (current.kind === 'public') throw conflict('client_without_secret', 'A public client has no secret.');
    const secret = newSecret();
    const previousUntil = current.secretHash === null ? null : new Date(Date.now() + rotationMs);
    await this.#change(
      id,
      {
        secretHash: sha256(secret),
        previousSecretHash: current.secretHash,
        previousSecretExpiresAt: previousUntil,
      },
      auditEvent('client.secret_rotated', id, origin),
    );
    return { secret, previousUntil };
  }

  async disable(id: string, origin: RequestOrigin): Promise<void> {
    const { disabledAt } = await this.find(id);
    if (disabledAt !== null) return;
    const { repository, directory } = this.#dependencies;
    await repository.update(id, { disabledAt: new Date() }, auditEvent('client.disabled', id, origin));
    directory.drop(id);
  }

  async find(id: string): Promise<Client> {
    const client = await this.#dependencies.repository.find(id);
    if (client === undefined)
      throw new ProblemError({ status: 404, code: 'client_not_found', detail: 'Client not found.' });
    return client;
  }

  list(page: { limit: number; after: string | undefined }): Promise<Client[]> {
    return this.#dependencies.repository.list(page);
  }

  async #change(
    id: string,
    change: Parameters<ClientRepository['update']>[1],
    audit: AuditEvent,
  ): Promise<Client> {
    const { repository, directory } = this.#dependencies;
    const client = await repository.update(id, change, audit);
    if (client === undefined) throw disabledProblem();
    directory.drop(id);
    return client;
  }

  async #assertValid(kind: ClientKind, settings: ClientSettings): Promise<void> {
    const problems = problemsOf(kind, settings);
    const { issuer } = this.#dependencies;
    const isOwn = (audience: string) =>
      issuer !== undefined && (audience === issuer || audience.startsWith(`${issuer}/`));
    if (settings.audiences.some(isOwn))
      problems.push({ field: 'audiences', message: 'must not have an issuer of this service' });
    const { identityId } = settings;
    if (identityId !== null && kind === 'machine' && problems.length === 0) {
      const isService = await this.#dependencies.repository.isServiceIdentity(identityId);
      if (!isService)
        problems.push({ field: 'identity_id', message: 'must be an identity without a password' });
    }
    if (problems.length > 0) throw validationProblem(problems);
  }
}

function defaultsOf(kind: ClientKind): Omit<ClientSettings, 'name'> {
  return {
    redirectUris: [],
    postLogoutRedirectUris: [],
    backchannelLogoutUri: null,
    scopes: kind === 'machine' ? [] : ['openid', 'email', 'profile'],
    audiences: [],
    requirePkce: true,
    isFirstParty: true,
    identityId: null,
    jwks: null,
  };
}

/** The rules that depend on the kind of a client. */
function problemsOf(kind: ClientKind, settings: ClientSettings): FieldError[] {
  const { redirectUris, postLogoutRedirectUris, scopes, requirePkce, identityId, jwks } = settings;
  const isMachine = kind === 'machine';
  const uris = [...redirectUris, ...postLogoutRedirectUris];
  const rules: [broken: boolean, field: string, message: string][] = [
    [!isMachine && redirectUris.length === 0, 'redirect_uris', 'must have at least one URI'],
    [isMachine && uris.length > 0, 'redirect_uris', 'must be empty for a machine'],
    [isMachine && scopes.length > 0, 'scopes', 'must be empty for a machine'],
    [isMachine && identityId === null, 'identity_id', 'is required for a machine'],
    [!isMachine && identityId !== null, 'identity_id', 'must be null but for a machine'],
    [
      kind !== 'public' && uris.some(isPrivateScheme),
      'redirect_uris',
      'may have private schemes only for a public client',
    ],
    [kind !== 'confidential' && !requirePkce, 'require_pkce', 'can be false only for a confidential client'],
    [kind === 'public' && jwks !== null, 'jwks', 'must be null for a public client'],
    [
      jwks?.keys.some((key) => readClientKey(key) === undefined) === true,
      'jwks',
      'must have public keys only: RSA of 2048 to 8192 bits, or P-256',
    ],
  ];
  return rules.flatMap(([broken, field, message]) => (broken ? [{ field, message }] : []));
}

function definedOnly<Type extends object>(
  value: Type,
): { [Key in keyof Type]: Exclude<Type[Key], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Type]: Exclude<Type[Key], undefined> };
}

function auditEvent(
  type: AuditType,
  client: string,
  origin: RequestOrigin,
  details: Record<string, string | string[]> = {},
): AuditEvent {
  return {
    type,
    outcome: 'success',
    actor: 'service',
    identityId: null,
    origin,
    details: { client, ...details },
  };
}

function conflict(code: 'client_disabled' | 'client_without_secret', detail: string): ProblemError {
  return new ProblemError({ status: 409, code, detail });
}

export function disabledProblem(): ProblemError {
  return conflict('client_disabled', 'The client is disabled for good.');
}
