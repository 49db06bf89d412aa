import { z } from 'zod';
import { operation } from '../operation.ts';
import { text, uuid } from '../text.ts';

/** POST /token. No e-mail syntax rule: an odd e-mail is simply unknown. */
export const passwordGrantSchema = z
  .object({
    grant_type: z.string().min(1, { error: 'must not be empty' }).meta({ example: 'password' }),
    email: text().min(1, { error: 'must not be empty' }).max(320),
    password: text().min(1, { error: 'must not be empty' }).max(4096),
  })
  .meta({ id: 'PasswordGrant' });
export type PasswordGrant = z.infer<typeof passwordGrantSchema>;

const refreshTokenField = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(8192, { error: 'must be at most 8192 characters' });

/** POST /token/refresh */
export const refreshRequestSchema = z
  .object({ refresh_token: refreshTokenField })
  .meta({ id: 'RefreshRequest' });
export type RefreshRequest = z.infer<typeof refreshRequestSchema>;

/** POST /token/revoke (RFC 7009 2.1 calls the parameter `token`). */
export const revokeRequestSchema = z.object({ token: refreshTokenField }).meta({ id: 'RevokeRequest' });

/** identity-service.md 2.2 */
export const tokenResponseSchema = z
  .object({
    access_token: z.string().describe('JWT, RS256.'),
    refresh_token: z.string().describe('JWT, RS256; usable once.'),
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().describe('Access-token lifetime in seconds.'),
  })
  .meta({ id: 'TokenResponse' });
export type TokenResponse = z.infer<typeof tokenResponseSchema>;

const numericDate = z.int().nonnegative();
const audience = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const registeredClaims = {
  sub: uuid(),
  iss: z.string().min(1),
  aud: audience,
  iat: numericDate,
  exp: numericDate,
  jti: uuid(),
};

/** identity-service.md 2.3; the table is closed, and claims added later are ignored by readers. */
export const accessTokenClaimsSchema = z
  .object({
    ...registeredClaims,
    type: z.literal('access'),
    email: z.string(),
    username: z.string(),
    is_verified: z.boolean(),
    is_staff: z.boolean(),
    is_superuser: z.boolean(),
  })
  .refine((claims) => claims.exp > claims.iat, { error: 'exp must be after iat', path: ['exp'] });
export type AccessTokenClaims = z.infer<typeof accessTokenClaimsSchema>;

/** identity-service.md 2.4 */
export const refreshTokenClaimsSchema = z
  .object({ ...registeredClaims, type: z.literal('refresh') })
  .refine((claims) => claims.exp > claims.iat, { error: 'exp must be after iat', path: ['exp'] });
export type RefreshTokenClaims = z.infer<typeof refreshTokenClaimsSchema>;

/** identity-service.md 2.8 */
export const userInfoSchema = z
  .object({
    sub: uuid(),
    email: z.string(),
    email_verified: z.boolean(),
    preferred_username: z.string(),
  })
  .meta({ id: 'UserInfo' });
export type UserInfo = z.infer<typeof userInfoSchema>;

const formGrantSchema = passwordGrantSchema
  .partial({ email: true })
  .extend({
    username: z
      .string()
      .optional()
      .describe("The e-mail, by RFC 6749 4.3.2's name; read when `email` is absent."),
  })
  .meta({ id: 'PasswordGrantForm' });

export const signIn = operation({
  id: 'signIn',
  method: 'POST',
  path: '/token',
  summary: 'Sign in with e-mail and password',
  description:
    'The password grant. Unknown parameters are ignored. Every refused sign-in gets the same answer after the same time.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: { schema: passwordGrantSchema, form: formGrantSchema },
  responses: { 200: { description: 'An access token and a refresh token.', schema: tokenResponseSchema } },
  problems: [
    { status: 400, description: 'The body cannot be read, or `unsupported_grant_type`.' },
    { status: 401, description: 'Invalid e-mail or password (`invalid_grant`).' },
    422,
    {
      status: 429,
      description: 'Too many failed sign-ins (`too_many_requests`); a valid sign-in never counts.',
    },
  ],
});

export const refreshTokens = operation({
  id: 'refreshTokens',
  method: 'POST',
  path: '/token/refresh',
  summary: 'Exchange a refresh token for a new pair',
  description:
    'A refresh token works once. Used again it is refused, and unless that was a short while after its own exchange, every token that stems from the same sign-in ends.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: { schema: refreshRequestSchema, form: refreshRequestSchema },
  responses: { 200: { description: 'A new pair.', schema: tokenResponseSchema } },
  problems: [{ status: 401, description: 'The refresh token is not valid (`invalid_grant`).' }, 422],
});

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'POST',
  path: '/token/revoke',
  summary: 'End the session of a refresh token',
  description:
    'RFC 7009. A token that is not valid is answered with 200 as well: there is nothing left to revoke.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: { schema: revokeRequestSchema, form: revokeRequestSchema },
  responses: { 200: { description: 'The session is over.', schema: z.object({}).meta({ id: 'Empty' }) } },
  problems: [{ status: 400, description: 'The body cannot be read, or `unsupported_token_type`.' }, 422],
});

const userInfo = {
  path: '/userinfo',
  summary: 'Who the access token is about',
  tags: ['OpenID Connect'],
  security: ['accessToken'],
  oauth: true,
  responses: { 200: { description: 'The identity, as it is now.', schema: userInfoSchema } },
  problems: [
    { status: 400, description: 'The Authorization header is malformed or given twice (`invalid_request`).' },
    { status: 401, description: 'No access token, or one that is not valid (`invalid_token`).' },
  ],
};

export const getUserInfo = operation({ ...userInfo, id: 'getUserInfo', method: 'GET' });

export const postUserInfo = operation({
  ...userInfo,
  id: 'postUserInfo',
  method: 'POST',
  description: 'The same (OpenID Connect Core 5.3.1).',
});
