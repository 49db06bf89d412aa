import { activitySchema, pageQuerySchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { issuesPath } from '../issues/issue-address.ts';
import { issueOperation, issueParams, nextLinkHeader } from '../issues/issue-operation.ts';

export const activityOperations: ApiOperation[] = [
  {
    ...issueOperation,
    method: 'GET',
    path: `${issuesPath}/:id/activity/`,
    operationId: 'listActivity',
    summary: 'What happened to an issue, oldest first',
    params: issueParams,
    query: pageQuerySchema,
    responses: {
      200: {
        description: 'A page of its history.',
        schema: z.array(activitySchema),
        headers: nextLinkHeader,
      },
    },
    problems: [401, 404, 422],
  },
];
