import type { ClientDetails, UpdateClient } from '@tessera/contracts';
import type { Client, ClientInput } from './client.ts';

/** Lists every field explicitly, so that a hash of a secret is never exposed. */
export function presentClient(client: Client): ClientDetails {
  const { lastRefusal } = client;
  return {
    client_id: client.id,
    name: client.name,
    kind: client.kind,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    backchannel_logout_uri: client.backchannelLogoutUri,
    scopes: [...client.scopes],
    audiences: [...client.audiences],
    require_pkce: client.requirePkce,
    is_first_party: client.isFirstParty,
    identity_id: client.identityId,
    jwks: client.jwks === null ? null : { keys: [...client.jwks.keys] },
    created_at: client.createdAt.toISOString(),
    disabled_at: client.disabledAt?.toISOString() ?? null,
    last_refusal:
      lastRefusal === null
        ? null
        : {
            at: lastRefusal.at,
            sent: lastRefusal.sent,
            nearest: lastRefusal.nearest,
            differs_at: lastRefusal.differsAt,
          },
  };
}

export function readClientSettings(body: UpdateClient): ClientInput {
  return {
    name: body.name,
    redirectUris: body.redirect_uris,
    postLogoutRedirectUris: body.post_logout_redirect_uris,
    backchannelLogoutUri: body.backchannel_logout_uri,
    scopes: body.scopes,
    audiences: body.audiences,
    requirePkce: body.require_pkce,
    isFirstParty: body.is_first_party,
    identityId: body.identity_id,
    jwks: body.jwks,
  };
}
