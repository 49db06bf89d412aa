import { z } from 'zod';
import { operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { serviceTokenRefused } from './identity.schemas.ts';

/** POST /internal/introspect (RFC 7662 2.1). Accepts any text, because an unknown token is inactive. */
export const introspectionRequestSchema = z
  .object({
    token: z.string().min(1, { error: 'must not be empty' }),
    token_type_hint: z
      .unknown()
      .optional()
      .meta({ description: 'Accepted and ignored: the token has its type.' }),
  })
  .meta({ id: 'IntrospectionRequest' });

const activeMembers = {
  active: z.literal(true),
  iss: z.string(),
  sub: uuid(),
  aud: z.union([z.string(), z.array(z.string())]),
  iat: z.int(),
  exp: z.int(),
  jti: uuid(),
  username: z.string().describe('The current username, not that at the time of issue.'),
};

const activeAccessTokenSchema = z
  .object({
    ...activeMembers,
    token_use: z.literal('access_token'),
    token_type: z.literal('Bearer').describe('How the token is presented (RFC 6749 5.1).'),
  })
  .meta({ id: 'ActiveAccessToken' });

const activeRefreshTokenSchema = z
  .object({
    ...activeMembers,
    token_use: z.literal('refresh_token'),
    sid: uuid().describe('The session of the token.'),
  })
  .meta({ id: 'ActiveRefreshToken' });

/** RFC 7662 2.2: the response reveals nothing about an inactive token. */
export const introspectionSchema = z
  .union([
    z.object({ active: z.literal(false) }).meta({ id: 'InactiveToken' }),
    activeAccessTokenSchema,
    activeRefreshTokenSchema,
  ])
  .meta({ id: 'Introspection' });
export type Introspection = z.infer<typeof introspectionSchema>;

export const introspectToken = operation({
  id: 'introspectToken',
  method: 'POST',
  path: '/internal/introspect',
  summary: 'Introspect a token',
  description:
    'RFC 7662. A token is active if it would be accepted now: an access token at `/userinfo`, a refresh token at `/token/refresh`. Introspection has no side effects. Check `token_use`: a refresh token does not authenticate a caller.',
  tags: ['Internal identity API'],
  security: ['serviceToken'],
  body: {
    schema: introspectionRequestSchema,
    form: introspectionRequestSchema,
    example: { token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl' },
  },
  responses: { 200: { description: 'The token, or `active: false`.', schema: introspectionSchema } },
  problems: [serviceTokenRefused, 422],
});
