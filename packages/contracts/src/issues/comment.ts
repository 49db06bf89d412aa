import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.ts';
import { uuid } from '../text.ts';
import { createCommentSchema } from './issue-input.ts';
import {
  idempotencyHeaders,
  idempotencyProblem,
  issueOperation,
  issueParams,
  issuesPath,
  locationHeader,
  replayedHeader,
} from './issue-operation.ts';
import { commentSchema } from './issue-response.ts';

const path = `${issuesPath}/:id/comments/`;

export const addComment = operation({
  id: 'addComment',
  ...issueOperation,
  method: 'POST',
  path,
  summary: 'Add a comment to an issue',
  description: 'Needs exactly one of `body`, `comment`, `text` and `content`; the response has it as `body`.',
  params: issueParams,
  headers: idempotencyHeaders,
  body: { schema: createCommentSchema },
  responses: {
    201: {
      description: 'The comment.',
      schema: commentSchema,
      headers: { ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [401, 404, idempotencyProblem, 422],
});

export const listComments = operation({
  id: 'listComments',
  ...issueOperation,
  method: 'GET',
  path,
  summary: 'List the comments of an issue, oldest first',
  params: issueParams,
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of comments.', schema: z.array(commentSchema), headers: nextLinkHeader },
  },
  problems: [401, 404, 422],
});

export const getComment = operation({
  id: 'getComment',
  ...issueOperation,
  method: 'GET',
  path: `${path}:comment_id/`,
  summary: 'Read a comment',
  params: issueParams.extend({ comment_id: uuid() }),
  responses: { 200: { description: 'The comment.', schema: commentSchema } },
  problems: [401, 404, 422],
});
