import { z } from 'zod';
import { operation } from '../operation.ts';

/** docs/spec/identity-service.md 2.6; the members after `grant_types_supported` are additions. */
export const discoveryDocumentSchema = z
  .object({
    issuer: z.url(),
    token_endpoint: z.url(),
    userinfo_endpoint: z.url(),
    jwks_uri: z.url(),
    response_types_supported: z.tuple([z.literal('token')]),
    subject_types_supported: z.tuple([z.literal('public')]),
    id_token_signing_alg_values_supported: z.tuple([z.literal('RS256')]),
    scopes_supported: z.tuple([z.literal('openid'), z.literal('email'), z.literal('profile')]),
    grant_types_supported: z.tuple([z.literal('password'), z.literal('refresh_token')]),
    claims_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.tuple([z.literal('none')]),
    revocation_endpoint: z.url(),
    revocation_endpoint_auth_methods_supported: z.tuple([z.literal('none')]),
  })
  .meta({ id: 'DiscoveryDocument' });
export type DiscoveryDocument = z.infer<typeof discoveryDocumentSchema>;

/** The form of a key id: docs/spec/identity-service.md 2.7, `<name>-key-1`, with increasing numbers. */
export const kidPattern = /^[A-Za-z0-9._-]+-key-[0-9]+$/;

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);

/** A public RSA key. Strict, so that it never has private members (`d`, `p`, `q`, …). */
export const jwkSchema = z
  .strictObject({
    kty: z.literal('RSA'),
    use: z.literal('sig'),
    alg: z.literal('RS256'),
    kid: z.string().regex(kidPattern),
    n: base64url,
    e: base64url,
  })
  .meta({ id: 'Jwk' });
export type Jwk = z.infer<typeof jwkSchema>;

/** docs/spec/identity-service.md 2.7 */
export const jwkSetSchema = z.object({ keys: z.array(jwkSchema).min(1) }).meta({ id: 'JwkSet' });
export type JwkSet = z.infer<typeof jwkSetSchema>;

/** Caching headers of the two public documents. */
const cacheableHeaders = {
  'Cache-Control': z.string().describe('How long the document may be cached.'),
  ETag: z.string().describe('For `If-None-Match`.'),
};

export const getDiscoveryDocument = operation({
  id: 'getDiscoveryDocument',
  method: 'GET',
  path: '/.well-known/openid-configuration',
  summary: 'Discovery document',
  description:
    'The URLs and capabilities of the other endpoints. Public, cacheable, readable from any origin.',
  tags: ['OpenID Connect'],
  responses: {
    200: {
      description: 'The discovery document.',
      schema: discoveryDocumentSchema,
      headers: cacheableHeaders,
    },
    304: { description: 'Not modified.', headers: cacheableHeaders },
  },
});

export const getKeySet = operation({
  id: 'getKeySet',
  method: 'GET',
  path: '/jwks',
  summary: 'Key set',
  description:
    'The public keys for verifying access tokens, selected by `kid`. Public, cacheable, readable from any origin.',
  tags: ['OpenID Connect'],
  responses: {
    200: { description: 'The JSON Web Key Set.', schema: jwkSetSchema, headers: cacheableHeaders },
    304: { description: 'Not modified.', headers: cacheableHeaders },
  },
});
