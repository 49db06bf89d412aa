import {
  identityIdParamsSchema,
  pageQuerySchema,
  sessionParamsSchema,
  sessionSchema,
} from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { nextLinkHeader } from '../paging/next-link-header.ts';

const common = { tags: ['Internal identity API'], security: ['serviceToken'] };

export const sessionOperations: ApiOperation[] = [
  {
    ...common,
    method: 'GET',
    path: '/internal/identities/:id/sessions',
    operationId: 'listSessions',
    summary: 'The live sessions of an identity, newest first',
    params: identityIdParamsSchema,
    query: pageQuerySchema,
    responses: {
      200: { description: 'A page of them.', schema: z.array(sessionSchema), headers: nextLinkHeader },
    },
    problems: [403, 404, 422],
  },
  {
    ...common,
    method: 'DELETE',
    path: '/internal/identities/:id/sessions',
    operationId: 'revokeSessions',
    summary: 'End every session of an identity',
    description:
      'Refresh tokens end at once; access tokens that were issued before are refused at `/userinfo` and inactive at `/internal/introspect`.',
    params: identityIdParamsSchema,
    responses: { 204: { description: 'Ended; also where there was none.' } },
    problems: [403, 404, 422],
  },
  {
    ...common,
    method: 'DELETE',
    path: '/internal/identities/:id/sessions/:session_id',
    operationId: 'revokeSession',
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
  },
];
