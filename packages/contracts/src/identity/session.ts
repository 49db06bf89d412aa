import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.ts';
import { uuid } from '../text.ts';
import { identityIdParamsSchema } from './identity.ts';

const timestamp = z.iso.datetime().describe('ISO 8601, UTC.');

/** A session: one sign-in and all the refresh tokens that stem from it. */
export const sessionSchema = z
  .object({
    id: uuid(),
    created_at: timestamp,
    last_used_at: timestamp.describe('When it was last refreshed, or began.'),
    expires_at: timestamp.describe('When it ends in any case.'),
    idle_expires_at: timestamp.describe('When it ends unless it is refreshed before.'),
    created_ip: z.string().nullable().describe('The address that it began from.'),
    user_agent: z
      .string()
      .nullable()
      .describe('The browser or program that it began in, as that called itself.'),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof sessionSchema>;

export const sessionParamsSchema = z.object({ id: uuid(), session_id: uuid() });

const common = { tags: ['Internal identity API'], security: ['serviceToken'] };

export const listSessions = operation({
  id: 'listSessions',
  ...common,
  method: 'GET',
  path: '/internal/identities/:id/sessions',
  summary: 'The live sessions of an identity, newest first',
  params: identityIdParamsSchema,
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of them.', schema: z.array(sessionSchema), headers: nextLinkHeader },
  },
  problems: [403, 404, 422],
});

export const revokeSessions = operation({
  id: 'revokeSessions',
  ...common,
  method: 'DELETE',
  path: '/internal/identities/:id/sessions',
  summary: 'End every session of an identity',
  description:
    'Refresh tokens end at once; access tokens that were issued before are refused at `/userinfo` and inactive at `/internal/introspect`.',
  params: identityIdParamsSchema,
  responses: { 204: { description: 'Ended; also where there was none.' } },
  problems: [403, 404, 422],
});

export const revokeSession = operation({
  id: 'revokeSession',
  ...common,
  method: 'DELETE',
  path: '/internal/identities/:id/sessions/:session_id',
  summary: 'End one session of an identity',
  description: 'Its refresh token ends at once; an access token of it lives out its lifetime.',
  params: sessionParamsSchema,
  responses: { 204: { description: 'Ended.' } },
  problems: [
    403,
    {
      status: 404,
      description: '`identity_not_found`, or `session_not_found`: it is over, or not of this identity.',
    },
    422,
  ],
});
