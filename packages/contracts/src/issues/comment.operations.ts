import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { timelineQuerySchema } from '../page.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { createCommentSchema, updateCommentSchema } from './issue-input.schemas.ts';
import { commentSchema } from './issue-response.schemas.ts';
import {
  idempotencyHeaders,
  ifMatchProblem,
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

const path = `${issuesPath}/:id/comments/`;
const commentParams = issueParams.extend({ comment_id: uuid() });
const etagHeader = { ETag: z.string().describe('Strong ETag of the comment.') };
const comment = { description: 'The comment.', schema: commentSchema, headers: etagHeader };
const commentNotFound = { status: 404, codes: ['issue_not_found', 'comment_not_found'] } as const;
const preconditionHeaders = z.object({
  'If-Match': z
    .string()
    .optional()
    .describe(
      'The ETag of the comment on which the change is based. The change is refused if the text has changed since; names may differ. Compared strongly (RFC 9110 13.1.1).',
    ),
});
const staleProblem = {
  status: 412,
  codes: ['precondition_failed'],
  description: 'The comment has been changed since the ETag in `If-Match`.',
} as const;

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
  body: {
    schema: createCommentSchema,
    example: { body: 'The invoice is printed again.' },
  },
  responses: {
    201: {
      ...comment,
      headers: { ...etagHeader, ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    unverifiedProblem,
    {
      ...commentNotFound,
      description:
        '`comment_not_found`: the comment of an earlier request with the same key was deleted since.',
    },
    {
      status: 409,
      codes: ['request_in_progress', 'too_many_attachments'],
      description:
        '`request_in_progress`: a request with the same key, or another change of the same issue, is in progress; `too_many_attachments`.',
    },
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
  params: commentParams,
  headers: z.object({ 'If-None-Match': z.string().optional() }),
  responses: { 200: comment, 304: { description: 'Not modified.', headers: etagHeader } },
  problems: [401, unverifiedProblem, commentNotFound, 422],
});

export const updateComment = operation({
  id: 'updateComment',
  ...issueOperation,
  tags: ['Comments'],
  method: 'PATCH',
  path: `${path}:comment_id/`,
  summary: 'Change the text of a comment',
  description:
    'For the author. The history keeps the old text, which counts towards the quota like a body. An equal text changes nothing. The change is not sent to the external tracker: a comment that it already has keeps its text there. The text of a comment that is not sent yet is the new one.',
  params: commentParams,
  headers: preconditionHeaders,
  body: {
    schema: updateCommentSchema,
    example: { body: 'The invoice is printed again, in colour.' },
  },
  responses: { 200: { ...comment, headers: { ...etagHeader, ...ignoredFieldsHeader } } },
  problems: [
    ifMatchProblem,
    401,
    403,
    commentNotFound,
    {
      status: 409,
      codes: ['external_comment', 'too_many_attachments'],
      description:
        '`external_comment`: a comment of the external tracker is changed there; `too_many_attachments`.',
    },
    staleProblem,
    422,
  ],
});

export const deleteComment = operation({
  id: 'deleteComment',
  ...issueOperation,
  tags: ['Comments'],
  method: 'DELETE',
  path: `${path}:comment_id/`,
  summary: 'Delete a comment',
  description:
    'For the author, for staff, and for managers of a project that not everyone reads. The history keeps the text, which counts towards the quota like a body. The deletion is not sent to the external tracker: a comment that it already has stays there, and is not copied back. A comment that is not sent yet is not sent. Deleting a deleted comment changes nothing.',
  params: commentParams,
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [ifMatchProblem, 401, 403, commentNotFound, staleProblem, 422],
});
