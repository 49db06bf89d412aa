import { auditEventSchema, auditQuerySchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { nextLinkHeader } from '../paging/next-link-header.ts';

export const auditOperations: ApiOperation[] = [
  {
    method: 'GET',
    path: '/internal/audit-events',
    operationId: 'listAuditEvents',
    summary: 'The audit trail, newest first',
    description:
      'Events of a deleted identity are found by its id as well. An event appears when its change is committed, a moment after its time: who follows the trail asks again from a little before.',
    tags: ['Internal identity API'],
    security: ['serviceToken'],
    query: auditQuerySchema,
    responses: {
      200: { description: 'A page of it.', schema: z.array(auditEventSchema), headers: nextLinkHeader },
    },
    problems: [403, 422],
  },
];
