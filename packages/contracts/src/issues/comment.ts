import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { timelineQuerySchema } from '../page.ts';
import { uuid } from '../text.ts';
import { createCommentSchema } from './issue-input.ts';
import {
  idempotencyHeaders,
  idempotencyProblem,
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './issue-operation.ts';
import { commentSchema } from './issue-response.ts';

const path = `${issuesPath}/:id/comments/`;

export const addComment = operation({
  id: 'addComment',
  ...issueOperation,
  tags: ['Comments'],
  method: 'POST',
  path,
  summary: 'Add a comment to an issue',
  description: 'The text is stored unchanged, and sent to the external tracker by the next sync.',
  params: issueParams,
  headers: idempotencyHeaders,
  body: { schema: createCommentSchema, example: { body: 'The invoice is printed again.' } },
  responses: {
    201: {
      description: 'The comment.',
      schema: commentSchema,
      headers: { ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    unverifiedProblem,
    issueNotFound,
    idempotencyProblem,
    { status: 422, codes: ['validation_failed', keyReusedCode] },
  ],
});

export const listComments = operation({
  id: 'listComments',
  ...issueOperation,
  tags: ['Comments'],
  method: 'GET',
  path,
  summary: 'List the comments of an issue',
  description: 'Oldest first, unless `order` is `newest`. Follow `Link` for further pages.',
  params: issueParams,
  query: timelineQuerySchema,
  responses: {
    200: { description: 'A page of comments.', schema: z.array(commentSchema), headers: nextLinkHeader },
  },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});

export const getComment = operation({
  id: 'getComment',
  ...issueOperation,
  tags: ['Comments'],
  method: 'GET',
  path: `${path}:comment_id/`,
  summary: 'Read a comment',
  description: 'A comment of the external tracker has its author there in `external`.',
  params: issueParams.extend({ comment_id: uuid() }),
  responses: { 200: { description: 'The comment.', schema: commentSchema } },
  problems: [401, unverifiedProblem, { status: 404, codes: ['issue_not_found', 'comment_not_found'] }, 422],
});
