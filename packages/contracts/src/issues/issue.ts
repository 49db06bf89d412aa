import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { issueSchema, issueSummarySchema } from './issue-answer.ts';
import { changeStatusSchema, createIssueSchema, updateIssueSchema } from './issue-input.ts';
import {
  etagHeader,
  idempotencyHeaders,
  idempotencyProblem,
  issueOperation,
  issueParams,
  issuesPath,
  locationHeader,
  preconditionHeaders,
  replayedHeader,
} from './issue-operation.ts';
import { issueListQuerySchema, issuePageSchema } from './issue-query.ts';

const theIssue = { description: 'The issue.', schema: issueSchema, headers: etagHeader };
const replayable = { ...theIssue, headers: { ...etagHeader, ...replayedHeader } };
const preconditionProblems = [
  { status: 412, description: 'The issue is not any more what `If-Match` names.' },
  { status: 428, description: 'This service is configured to demand `If-Match` or `version`.' },
];

const update = {
  ...issueOperation,
  path: `${issuesPath}/:id/`,
  description:
    'Members that are absent stay as they are; `links` replaces the whole list. Nothing changes where the body says what is there already. The status has its own endpoint: sent back as it is it is accepted, another one is refused.',
  params: issueParams,
  headers: preconditionHeaders,
  body: { schema: updateIssueSchema },
  responses: { 200: theIssue },
  problems: [
    401,
    403,
    404,
    {
      status: 409,
      description: '`version_conflict`: `issue` is what the issue is by now; nothing was written.',
    },
    ...preconditionProblems,
    { status: 422, description: 'Not valid; `status_not_writable` where the body would change the status.' },
    503,
  ],
};

export const listIssues = operation({
  id: 'listIssues',
  ...issueOperation,
  method: 'GET',
  path: `${issuesPath}/`,
  summary: 'List issues',
  description:
    'An array, newest first; `Link` leads to the next page where there is one. With `page` or `page_size` an envelope with a count instead. Parameters that are not known are refused.',
  query: issueListQuerySchema,
  responses: {
    200: {
      description: 'A page of issues, without their comments.',
      schema: z.union([z.array(issueSummarySchema), issuePageSchema]),
      headers: {
        ...nextLinkHeader,
        'X-Total-Count': z
          .string()
          .optional()
          .describe(
            'On the first page of an array: how many issues match. Absent above 10,000, and for a search whose matches would take long to count.',
          ),
      },
    },
  },
  problems: [401, { status: 404, description: '`invalid_page`: the page is past the end.' }, 422],
});

export const describeIssues = operation({
  id: 'describeIssues',
  ...issueOperation,
  method: 'OPTIONS',
  path: `${issuesPath}/`,
  summary: 'What a new issue may hold',
  responses: {
    200: { description: 'Fields, bounds and choices.', schema: z.looseObject({ name: z.string() }) },
  },
  problems: [401],
});

export const createIssue = operation({
  id: 'createIssue',
  ...issueOperation,
  method: 'POST',
  path: `${issuesPath}/`,
  summary: 'Create an issue',
  headers: idempotencyHeaders,
  body: { schema: createIssueSchema },
  responses: { 201: { ...replayable, headers: { ...replayable.headers, ...locationHeader } } },
  problems: [401, idempotencyProblem, 422, 502],
});

export const getIssue = operation({
  id: 'getIssue',
  ...issueOperation,
  method: 'GET',
  path: `${issuesPath}/:id/`,
  summary: 'Read an issue, with its newest comments',
  params: issueParams,
  headers: z.object({ 'If-None-Match': z.string().optional() }),
  responses: { 200: theIssue, 304: { description: 'The client has it already.', headers: etagHeader } },
  problems: [401, 404, 422],
});

export const updateIssue = operation({
  ...update,
  id: 'updateIssue',
  method: 'PUT',
  summary: 'Change what is supplied of an issue',
});

export const patchIssue = operation({
  ...update,
  id: 'patchIssue',
  method: 'PATCH',
  summary: 'The same as PUT',
});

export const changeIssueStatus = operation({
  ...issueOperation,
  id: 'changeIssueStatus',
  method: 'POST',
  path: `${issuesPath}/:id/status/`,
  summary: 'Change the status of an issue',
  description:
    'The workflow: OPEN → IN_PROGRESS, RESOLVED, CLOSED; IN_PROGRESS → OPEN, RESOLVED, CLOSED; RESOLVED → CLOSED, REOPENED; CLOSED → REOPENED; REOPENED → IN_PROGRESS, RESOLVED, CLOSED. The status that is there already is accepted and changes nothing.',
  params: issueParams,
  headers: preconditionHeaders.extend(idempotencyHeaders.shape),
  body: { schema: changeStatusSchema },
  responses: { 200: replayable },
  problems: [
    401,
    403,
    404,
    {
      status: 409,
      description:
        '`illegal_transition` with `current_status` and `allowed_transitions`; `version_conflict` with `issue`; `request_in_progress`.',
    },
    ...preconditionProblems,
    422,
  ],
});
