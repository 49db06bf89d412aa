import { commentSchema, createCommentSchema, pageQuerySchema, uuid } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { issuesPath } from '../issues/issue-address.ts';
import {
  idempotencyHeaders,
  idempotencyProblem,
  issueOperation,
  issueParams,
  locationHeader,
  nextLinkHeader,
  replayedHeader,
} from '../issues/issue-operation.ts';

const path = `${issuesPath}/:id/comments/`;

export const commentOperations: ApiOperation[] = [
  {
    ...issueOperation,
    method: 'POST',
    path,
    operationId: 'addComment',
    summary: 'Add a comment to an issue',
    description: 'Exactly one of `body`, `comment`, `text` and `content`; answered as `body`.',
    params: issueParams,
    headers: idempotencyHeaders,
    body: { schema: createCommentSchema },
    responses: {
      201: {
        description: 'The comment.',
        schema: commentSchema,
        headers: { ...locationHeader, ...replayedHeader },
      },
    },
    problems: [401, 404, idempotencyProblem, 422],
  },
  {
    ...issueOperation,
    method: 'GET',
    path,
    operationId: 'listComments',
    summary: 'The comments of an issue, oldest first',
    params: issueParams,
    query: pageQuerySchema,
    responses: {
      200: { description: 'A page of comments.', schema: z.array(commentSchema), headers: nextLinkHeader },
    },
    problems: [401, 404, 422],
  },
  {
    ...issueOperation,
    method: 'GET',
    path: `${path}:commentId/`,
    operationId: 'getComment',
    summary: 'Read a comment',
    params: issueParams.extend({ commentId: uuid() }),
    responses: { 200: { description: 'The comment.', schema: commentSchema } },
    problems: [401, 404, 422],
  },
];
