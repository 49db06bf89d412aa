import { clientScopes } from '@tessera/contracts';
import { clientAlgorithms } from '../clients/client-keys.ts';
import type { OidcIssuer } from './issuer.ts';

/** The metadata of the second issuer (OpenID Connect Discovery 3, RFC 8414 2). Lists only what works. */
export function oidcDiscoveryDocument({ issuer, base }: OidcIssuer, locales: readonly string[]): object {
  const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'];
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    revocation_endpoint: `${issuer}/revoke`,
    end_session_endpoint: `${issuer}/logout`,
    jwks_uri: `${base}/jwks`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: [...clientScopes],
    claims_supported: [
      'sub',
      'iss',
      'aud',
      'iat',
      'exp',
      'auth_time',
      'nonce',
      'acr',
      'amr',
      'sid',
      'at_hash',
      'email',
      'email_verified',
      'preferred_username',
      'name',
      'groups',
    ],
    acr_values_supported: ['aal1'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    ui_locales_supported: [...locales],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: [...clientAlgorithms],
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: [...clientAlgorithms],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  };
}
