import { z } from 'zod';
import { operation } from '../operation.ts';
import { uuid } from '../text.ts';

/** POST /internal/introspect (RFC 7662 2.1). Whatever is no token of ours is not active, so any text is taken. */
export const introspectionRequestSchema = z
  .object({
    token: z.string().min(1, { error: 'must not be empty' }),
    token_type_hint: z
      .unknown()
      .optional()
      .meta({ description: 'Accepted and ignored: the token says it itself.' }),
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
  username: z.string().describe('As of now, rather than of when the token was issued.'),
};

const activeAccessTokenSchema = z
  .object({
    ...activeMembers,
    token_use: z.literal('access_token'),
    token_type: z.literal('Bearer').describe('How it is presented (RFC 6749 5.1).'),
  })
  .meta({ id: 'ActiveAccessToken' });

const activeRefreshTokenSchema = z
  .object({
    ...activeMembers,
    token_use: z.literal('refresh_token'),
    sid: uuid().describe('The session that it continues.'),
  })
  .meta({ id: 'ActiveRefreshToken' });

/** RFC 7662 2.2: of a token that is not active nothing is told, not even why. */
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
  summary: 'Ask whether a token is good at this moment',
  description:
    'RFC 7662. Active is what would be accepted now: an access token at `/userinfo`, a refresh token at `/token/refresh`. Asking changes nothing. Look at `token_use`: a refresh token is no proof of who calls.',
  tags: ['Internal identity API'],
  security: ['serviceToken'],
  body: { schema: introspectionRequestSchema, form: introspectionRequestSchema },
  responses: { 200: { description: 'What it is, or `active: false`.', schema: introspectionSchema } },
  problems: [403, 422],
});
