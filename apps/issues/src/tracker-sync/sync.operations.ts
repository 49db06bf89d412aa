import { issueSchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { issuesPath } from '../issues/issue-address.ts';
import {
  etagHeader,
  idempotencyHeaders,
  issueOperation,
  issueParams,
  replayedHeader,
} from '../issues/issue-operation.ts';

export const syncOperations: ApiOperation[] = [
  {
    ...issueOperation,
    method: 'POST',
    path: `${issuesPath}/:id/sync/`,
    operationId: 'syncIssue',
    summary: 'Sync an issue with the external issue tracker',
    params: issueParams,
    headers: idempotencyHeaders,
    body: { schema: z.object({}), optional: true },
    responses: {
      200: {
        description: 'The issue, in step with the tracker.',
        schema: issueSchema,
        headers: { ...etagHeader, ...replayedHeader },
      },
    },
    problems: [
      401,
      403,
      404,
      { status: 409, description: '`tracker_not_configured`, or `request_in_progress`.' },
      422,
    ],
  },
];
