import type { DiscoveryDocument } from '@tessera/contracts';

/** docs/spec/identity-service.md 2.6. URLs use the configured issuer and never the Host header. */
export function discoveryDocument(issuer: string): DiscoveryDocument {
  const base = issuer.replace(/\/$/, '');
  return {
    issuer,
    token_endpoint: `${base}/token`,
    userinfo_endpoint: `${base}/userinfo`,
    jwks_uri: `${base}/jwks`,
    response_types_supported: ['token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'profile'],
    grant_types_supported: ['password', 'refresh_token'],
    claims_supported: [
      'sub',
      'iss',
      'aud',
      'iat',
      'exp',
      'jti',
      'type',
      'email',
      'username',
      'is_verified',
      'is_staff',
      'is_superuser',
      'email_verified',
      'preferred_username',
    ],
    // RFC 8414 2: the default would be client_secret_basic.
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint: `${base}/token/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
  };
}
