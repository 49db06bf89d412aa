import { z } from 'zod';
import { operation } from '../operation.ts';
import {
  passwordGrantSchema,
  refreshRequestSchema,
  revokeRequestSchema,
  tokenResponseSchema,
  userInfoSchema,
} from './token.schemas.ts';

/** POST /token of a service with TOKEN_ENDPOINT_REFRESH=on (RFC 6749 6) */
const refreshGrantSchema = refreshRequestSchema.extend({ grant_type: z.literal('refresh_token') }).meta({
  id: 'RefreshGrant',
  description:
    'Accepted if the service is configured with `TOKEN_ENDPOINT_REFRESH=on`. Otherwise the response is 400 `unsupported_grant_type`, and refresh tokens are exchanged at `/token/refresh` only.',
});

const formGrantSchema = passwordGrantSchema
  .partial({ email: true })
  .extend({
    username: z
      .string()
      .optional()
      .describe('The e-mail address under its name of RFC 6749 4.3.2; used if `email` is absent.'),
  })
  .meta({ id: 'PasswordGrantForm' });

export const signIn = operation({
  id: 'signIn',
  method: 'POST',
  path: '/token',
  summary: 'Sign in with e-mail address and password',
  description:
    'The password grant. Unknown parameters are ignored. All sign-ins with a wrong address or password have the same response and take the same time. With a temporary password, the response is `password_change_required` until `new_password` is given too. A service that is configured with `TOKEN_ENDPOINT_REFRESH=on` also accepts the `refresh_token` grant here, with the responses of `/token/refresh`.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: {
    schema: passwordGrantSchema,
    form: formGrantSchema,
    configurable: refreshGrantSchema,
    example: { grant_type: 'password', email: 'bob@example.com', password: 'paper boat in the harbour' },
  },
  responses: { 200: { description: 'An access token and a refresh token.', schema: tokenResponseSchema } },
  problems: [
    {
      status: 400,
      codes: ['unsupported_grant_type'],
      description: 'The body is malformed, or `unsupported_grant_type`.',
    },
    {
      status: 401,
      codes: ['invalid_grant', 'password_change_required', 'password_expired'],
      description:
        'Invalid e-mail address, password or refresh token (`invalid_grant`). The password is right but temporary: `new_password` is missing (`password_change_required`), or its 24 hours are over (`password_expired`). The member `error` is always `invalid_grant`.',
    },
    422,
    {
      status: 429,
      codes: ['too_many_requests'],
      description:
        'Too many failed sign-ins, or too many new sessions or refreshes of the identity in a minute (`too_many_requests`).',
    },
  ],
});

export const refreshTokens = operation({
  id: 'refreshTokens',
  method: 'POST',
  path: '/token/refresh',
  summary: 'Exchange a refresh token for new tokens',
  description:
    'A refresh token can be used once. A second use is refused and ends the session, unless it follows shortly after the first.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: {
    schema: refreshRequestSchema,
    form: refreshRequestSchema,
    example: { refresh_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl' },
  },
  responses: { 200: { description: 'A new access token and refresh token.', schema: tokenResponseSchema } },
  problems: [
    { status: 401, codes: ['invalid_grant'], description: 'The refresh token is invalid (`invalid_grant`).' },
    422,
    {
      status: 429,
      codes: ['too_many_requests'],
      description:
        'Too many refreshes of the identity in a minute (`too_many_requests`); the token is still valid.',
    },
  ],
});

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'POST',
  path: '/token/revoke',
  summary: 'End the session of a refresh token',
  description: 'RFC 7009. The response is also 200 for an invalid token, because there is nothing to revoke.',
  tags: ['OpenID Connect'],
  oauth: true,
  body: {
    schema: revokeRequestSchema,
    form: revokeRequestSchema,
    example: { token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl' },
  },
  responses: { 200: { description: 'The session has ended.', schema: z.object({}).meta({ id: 'Empty' }) } },
  problems: [
    {
      status: 400,
      codes: ['unsupported_token_type'],
      description: 'The body is malformed, or `unsupported_token_type`.',
    },
    422,
  ],
});

const userInfo = {
  path: '/userinfo',
  summary: 'Read the identity of the access token',
  description: 'OpenID Connect Core 5.3.1. The values are current, not those at the time of issue.',
  tags: ['OpenID Connect'],
  security: ['accessToken'],
  oauth: true,
  responses: { 200: { description: 'The current identity.', schema: userInfoSchema } },
  problems: [
    {
      status: 400,
      codes: ['invalid_request'],
      description: 'The Authorization header is malformed or repeated (`invalid_request`).',
    },
    {
      status: 401,
      codes: ['unauthorized', 'invalid_token'],
      description: 'The access token is missing (`unauthorized`) or invalid (`invalid_token`).',
    },
    {
      status: 429,
      codes: ['too_many_requests'],
      description: 'Too many requests of the identity in a minute (`too_many_requests`).',
    },
  ],
} as const;

export const getUserInfo = operation({ ...userInfo, id: 'getUserInfo', method: 'GET' });

export const postUserInfo = operation({
  ...userInfo,
  id: 'postUserInfo',
  method: 'POST',
  description:
    'Equivalent to GET (OpenID Connect Core 5.3.1). The values are current, not those at the time of issue.',
});
