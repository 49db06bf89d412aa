import { createHash } from 'node:crypto';
import type { Client } from '../clients/client.ts';
import type { ClientGrant, ClientSubject } from '../tokens/refresh-token.repository.ts';
import type { TokenIssuer, TokenSubject } from '../tokens/token-issuer.ts';
import type { OidcIssuer } from './issuer.ts';

/** The response of the token endpoint (RFC 6749 5.1, OpenID Connect Core 3.1.3.3). */
export interface ClientTokenResponse {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope?: string;
  refresh_token?: string;
  id_token?: string;
}

/** A sign-in whose tokens are issued. `issuedAt` is in seconds since 1970. */
interface Issue {
  client: Client;
  subject: ClientSubject;
  grant: ClientGrant;
  issuedAt: number;
  refreshToken: string | Promise<string>;
  /** Only at the exchange of the code (OpenID Connect Core 12.2). */
  nonce?: string | null;
}

/** Issues the tokens of clients. */
export class ClientTokens {
  readonly #issuer: TokenIssuer;
  readonly #oidc: OidcIssuer;

  constructor({ issuer, oidc }: { issuer: TokenIssuer; oidc: OidcIssuer }) {
    this.#issuer = issuer;
    this.#oidc = oidc;
  }

  async forPerson({
    client,
    subject,
    grant,
    issuedAt,
    refreshToken,
    nonce,
  }: Issue): Promise<ClientTokenResponse> {
    // What was registered may have become less since the sign-in.
    const scope = grant.scope.filter((name) => client.scopes.some((known) => known === name));
    const accessToken = await this.#sign(client, subject, issuedAt, { scope, resource: grant.resource });
    const idToken = scope.includes('openid')
      ? this.#issuer.signForClient({
          iss: this.#oidc.issuer,
          sub: subject.id,
          aud: client.id,
          iat: issuedAt,
          exp: issuedAt + this.#issuer.accessTtlSeconds,
          auth_time: Math.floor(grant.authTime.getTime() / 1000),
          ...(nonce == null ? {} : { nonce }),
          acr: grant.acr,
          amr: grant.amr,
          sid: grant.ssoSessionId,
          at_hash: leftHalf(accessToken),
          ...claimsOf(subject, scope),
        })
      : undefined;
    const [refresh, id] = await Promise.all([refreshToken, idToken]);
    return {
      ...this.#present(accessToken, scope),
      refresh_token: refresh,
      ...(id === undefined ? {} : { id_token: id }),
    };
  }

  /** A machine gets no refresh token (RFC 6749 4.4.3). */
  async forMachine(
    client: Client,
    subject: TokenSubject,
    resource: string | null,
  ): Promise<ClientTokenResponse> {
    const issuedAt = Math.floor(Date.now() / 1000);
    return this.#present(await this.#sign(client, subject, issuedAt, { scope: [], resource }), []);
  }

  #sign(
    client: Client,
    subject: TokenSubject,
    issuedAt: number,
    { scope, resource }: { scope: readonly string[]; resource: string | null },
  ): Promise<string> {
    const audience = this.#audienceOf(client, resource);
    return this.#issuer.signAccessToken(subject, issuedAt, { audience, clientId: client.id, scope });
  }

  #audienceOf({ audiences }: Client, resource: string | null): string | string[] {
    const { userInfoAudience, audience } = this.#oidc;
    if (resource === null || !audiences.includes(resource)) return userInfoAudience;
    return [audience].flat().includes(resource) ? audience : resource;
  }

  #present(accessToken: string, scope: readonly string[]): ClientTokenResponse {
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: this.#issuer.accessTtlSeconds,
      ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
    };
  }
}

/** The claims about a person that scopes give (OpenID Connect Core 5.4). */
export function claimsOf(
  subject: Omit<ClientSubject, 'sessionEpoch'>,
  scope: readonly string[],
): Record<string, unknown> {
  const { email, isVerified, username, displayName, isStaff, isSuperuser } = subject;
  const groups = [...(isStaff ? ['staff'] : []), ...(isSuperuser ? ['superuser'] : [])];
  return {
    ...(scope.includes('email') ? { email, email_verified: isVerified } : {}),
    ...(scope.includes('profile')
      ? { preferred_username: username, ...(displayName === null ? {} : { name: displayName }) }
      : {}),
    ...(scope.includes('groups') ? { groups } : {}),
  };
}

// OpenID Connect Core 3.1.3.6
function leftHalf(accessToken: string): string {
  return createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
}
