import {
  passwordGrantSchema,
  refreshRequestSchema,
  revokeRequestSchema,
  tokenResponseSchema,
} from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';

const formGrantSchema = passwordGrantSchema
  .partial({ email: true })
  .extend({
    username: z
      .string()
      .optional()
      .describe("The e-mail, by RFC 6749 4.3.2's name; read when `email` is absent."),
  })
  .meta({ id: 'PasswordGrantForm' });

export const tokenOperations: ApiOperation[] = [
  {
    method: 'POST',
    path: '/token',
    operationId: 'signIn',
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
  },
  {
    method: 'POST',
    path: '/token/refresh',
    operationId: 'refreshTokens',
    summary: 'Exchange a refresh token for a new pair',
    description:
      'A refresh token works once. Used again it is refused, and unless that was a short while after its own exchange, every token that stems from the same sign-in ends.',
    tags: ['OpenID Connect'],
    oauth: true,
    body: { schema: refreshRequestSchema, form: refreshRequestSchema },
    responses: { 200: { description: 'A new pair.', schema: tokenResponseSchema } },
    problems: [{ status: 401, description: 'The refresh token is not valid (`invalid_grant`).' }, 422],
  },
  {
    method: 'POST',
    path: '/token/revoke',
    operationId: 'revokeToken',
    summary: 'End the session of a refresh token',
    description:
      'RFC 7009. A token that is not valid is answered with 200 as well: there is nothing left to revoke.',
    tags: ['OpenID Connect'],
    oauth: true,
    body: { schema: revokeRequestSchema, form: revokeRequestSchema },
    responses: { 200: { description: 'The session is over.', schema: z.object({}).meta({ id: 'Empty' }) } },
    problems: [{ status: 400, description: 'The body cannot be read, or `unsupported_token_type`.' }, 422],
  },
];
