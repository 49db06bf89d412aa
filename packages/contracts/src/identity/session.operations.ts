import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { identityIdParamsSchema, identityNotFound, serviceTokenRefused } from './identity.schemas.ts';

const timestamp = z.iso.datetime().describe('ISO 8601, UTC.');

/** A session: a sign-in and all refresh tokens that result from it. */
export const sessionSchema = z
  .object({
    id: uuid(),
    created_at: timestamp,
    last_used_at: timestamp.describe('The last refresh, or the sign-in.'),
    expires_at: timestamp.describe('The absolute end of the session.'),
    idle_expires_at: timestamp.describe('The end of the session if it is not refreshed.'),
    created_ip: z.string().nullable().describe('The client address of the sign-in.'),
    user_agent: z.string().nullable().describe('The User-Agent header of the sign-in.'),
  })
  .meta({ id: 'Session' });
export type SessionDetails = z.infer<typeof sessionSchema>;

export const sessionParamsSchema = z.object({ id: uuid(), session_id: uuid() });

const common = { tags: ['Internal identity API'], security: ['serviceToken'] };

export const listSessions = operation({
  id: 'listSessions',
  ...common,
  method: 'GET',
  path: '/internal/identities/:id/sessions',
  summary: 'List the active sessions of an identity, newest first',
  description: 'A session is active until it ends, expires or is not refreshed in time.',
  params: identityIdParamsSchema,
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of sessions.', schema: z.array(sessionSchema), headers: nextLinkHeader },
  },
  problems: [serviceTokenRefused, identityNotFound, 422],
});

export const revokeSessions = operation({
  id: 'revokeSessions',
  ...common,
  method: 'DELETE',
  path: '/internal/identities/:id/sessions',
  summary: 'End all sessions of an identity',
  description:
    'Refresh tokens become invalid at once; access tokens issued before are refused at `/userinfo` and inactive at `/internal/introspect`.',
  params: identityIdParamsSchema,
  responses: { 204: { description: 'Ended, or there was none.' } },
  problems: [serviceTokenRefused, identityNotFound, 422],
});

export const revokeSession = operation({
  id: 'revokeSession',
  ...common,
  method: 'DELETE',
  path: '/internal/identities/:id/sessions/:session_id',
  summary: 'End a session of an identity',
  description: 'Its refresh token becomes invalid at once; its access tokens stay valid until they expire.',
  params: sessionParamsSchema,
  responses: { 204: { description: 'Ended.' } },
  problems: [
    serviceTokenRefused,
    {
      status: 404,
      codes: ['identity_not_found', 'session_not_found'],
      description:
        '`identity_not_found`, or `session_not_found`: the session has ended, or belongs to another identity.',
    },
    422,
  ],
});
