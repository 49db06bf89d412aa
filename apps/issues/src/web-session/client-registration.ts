import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClientDetails,
  clientSchema,
  clientSecretSchema,
  createdClientSchema,
} from '@tessera/contracts';
import type { Logger } from '@tessera/service-kit';
import type { z } from 'zod';
import {
  identityAnswerInvalid,
  identityUnavailable,
  OutageError,
} from '../identity-mirror/identity-problem.ts';
import type { IdentityReply, IdentityTransport } from '../identity-mirror/identity-transport.ts';
import type { OauthClientRepository, StoredClient } from './oauth-client.repository.ts';
import type { ClientCredentials, ClientCredentialsSource } from './oidc-token-client.ts';
import type { TokenSealer } from './token-sealer.ts';

/** What the web app registers at identity. */
export interface Registration {
  name: string;
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  backchannel_logout_uri: string | null;
  scopes: ('openid' | 'email' | 'profile')[];
  audiences: string[];
  require_pkce: true;
  is_first_party: true;
}

interface ClientRegistrationOptions {
  issuer: string;
  registration: Registration;
  repository: OauthClientRepository;
  transport: IdentityTransport;
  sealer: TokenSealer;
  logger: Logger;
}

const maxWaitMs = 5_000;
const pollMs = 100;

/** The credentials that the operator has set. */
export function fixedCredentials(credentials: ClientCredentials): ClientCredentialsSource {
  return { current: async () => credentials, replace: async () => undefined };
}

/**
 * Registers the web app at identity by itself, with the service token, when the first person signs in. The database has the
 * client with its sealed secret, so that replicas and restarts use the same one; one statement decides which process registers.
 * A changed registration is sent again. A secret that is lost or refused is replaced by a new one of the same client.
 */
export class ClientRegistration implements ClientCredentialsSource {
  readonly #options: ClientRegistrationOptions;
  readonly #wanted: string;
  #held: ClientCredentials | undefined;
  #loading: Promise<ClientCredentials> | undefined;

  constructor(options: ClientRegistrationOptions) {
    this.#options = options;
    this.#wanted = JSON.stringify(options.registration);
  }

  async current(requestId: string): Promise<ClientCredentials> {
    return this.#held ?? this.#loadOnce(requestId);
  }

  async replace(refused: ClientCredentials, requestId: string): Promise<ClientCredentials> {
    if (this.#held?.secret === refused.secret) this.#held = undefined;
    return this.#held ?? this.#loadOnce(requestId, refused);
  }

  #loadOnce(requestId: string, refused?: ClientCredentials): Promise<ClientCredentials> {
    this.#loading ??= this.#load(requestId, refused).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(requestId: string, refused: ClientCredentials | undefined): Promise<ClientCredentials> {
    const { repository, issuer } = this.#options;
    const deadline = performance.now() + maxWaitMs;
    for (;;) {
      const found = await repository.find(issuer);
      const secret = this.#openSecret(found, refused);
      if (found?.clientId && secret !== undefined && found.registration === this.#wanted) {
        this.#held = { clientId: found.clientId, secret };
        return this.#held;
      }
      if (await repository.claim(issuer, found)) await this.#register(found, secret, requestId);
      else if (performance.now() > deadline) throw identityUnavailable(new OutageError('still registering'));
      else await sleep(pollMs);
    }
  }

  #openSecret(found: StoredClient | undefined, refused: ClientCredentials | undefined): string | undefined {
    if (!found?.clientId || found.secret === null) return undefined;
    const secret = this.#options.sealer.open(found.secret, 'client', Buffer.from(found.clientId));
    return secret === refused?.secret ? undefined : secret;
  }

  async #register(found: StoredClient | undefined, secret: string | undefined, requestId: string) {
    const { repository, issuer, sealer, logger } = this.#options;
    try {
      const credentials = await this.#repair(found, secret, requestId);
      const { clientId } = credentials;
      await repository.store(issuer, found, {
        clientId,
        secret: sealer.seal(credentials.secret, 'client', Buffer.from(clientId)),
        registration: this.#wanted,
      });
      logger.info({ client_id: clientId }, 'the web app is registered at the identity service');
    } catch (error) {
      await repository.release(issuer);
      throw error;
    }
  }

  async #repair(
    found: StoredClient | undefined,
    secret: string | undefined,
    requestId: string,
  ): Promise<ClientCredentials> {
    const { transport, registration } = this.#options;
    const known = found?.clientId ? await this.#read(found.clientId, requestId) : undefined;
    if (known === undefined) {
      const body = { ...registration, kind: 'confidential' as const };
      const reply = await transport.send('createClient', { body, requestId });
      const { client_id: clientId, client_secret: created } = contentOf(reply, 201, createdClientSchema);
      if (created === undefined) throw identityAnswerInvalid('no client secret');
      return { clientId, secret: created };
    }
    const { client_id } = known;
    // An administrator has decided that.
    if (known.disabled_at !== null) throw identityAnswerInvalid('the client of the web app is disabled');
    if (found?.registration !== this.#wanted)
      contentOf(
        await transport.send('updateClient', { params: { client_id }, body: registration, requestId }),
        200,
        clientSchema,
      );
    if (secret !== undefined) return { clientId: client_id, secret };
    const reply = await transport.send('rotateClientSecret', { params: { client_id }, requestId });
    return { clientId: client_id, secret: contentOf(reply, 200, clientSecretSchema).client_secret };
  }

  async #read(client_id: string, requestId: string): Promise<ClientDetails | undefined> {
    const reply = await this.#options.transport.send('getClient', { params: { client_id }, requestId });
    return reply.status === 404 ? undefined : contentOf(reply, 200, clientSchema);
  }
}

function contentOf<Schema extends z.ZodType>(
  { status, data }: IdentityReply,
  expected: number,
  schema: Schema,
): z.output<Schema> {
  const parsed = schema.safeParse(data);
  if (status === expected && parsed.success) return parsed.data;
  // With HOSTED_SIGN_IN=off, the paths of clients do not exist.
  throw identityAnswerInvalid(
    status === 404 ? 'has no hosted sign-in: set HOSTED_SIGN_IN=on there' : `responded ${status}`,
  );
}
