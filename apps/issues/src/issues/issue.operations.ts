import {
  changeStatusSchema,
  createIssueSchema,
  issueListQuerySchema,
  issuePageSchema,
  issueSchema,
  issueSummarySchema,
  updateIssueSchema,
} from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { issuesPath } from './issue-address.ts';
import {
  etagHeader,
  idempotencyHeaders,
  idempotencyProblem,
  issueOperation,
  issueParams,
  locationHeader,
  nextLinkHeader,
  preconditionHeaders,
  replayedHeader,
} from './issue-operation.ts';

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
} satisfies Partial<ApiOperation>;

export const issueOperations: ApiOperation[] = [
  {
    ...issueOperation,
    method: 'GET',
    path: `${issuesPath}/`,
    operationId: 'listIssues',
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
  },
  {
    ...issueOperation,
    method: 'OPTIONS',
    path: `${issuesPath}/`,
    operationId: 'describeIssues',
    summary: 'What a new issue may hold',
    responses: {
      200: { description: 'Fields, bounds and choices.', schema: z.looseObject({ name: z.string() }) },
    },
    problems: [401],
  },
  {
    ...issueOperation,
    method: 'POST',
    path: `${issuesPath}/`,
    operationId: 'createIssue',
    summary: 'Create an issue',
    headers: idempotencyHeaders,
    body: { schema: createIssueSchema },
    responses: { 201: { ...replayable, headers: { ...replayable.headers, ...locationHeader } } },
    problems: [401, idempotencyProblem, 422, 502],
  },
  {
    ...issueOperation,
    method: 'GET',
    path: `${issuesPath}/:id/`,
    operationId: 'getIssue',
    summary: 'Read an issue, with its newest comments',
    params: issueParams,
    headers: z.object({ 'If-None-Match': z.string().optional() }),
    responses: { 200: theIssue, 304: { description: 'The client has it already.', headers: etagHeader } },
    problems: [401, 404, 422],
  },
  { ...update, method: 'PUT', operationId: 'updateIssue', summary: 'Change what is supplied of an issue' },
  { ...update, method: 'PATCH', operationId: 'patchIssue', summary: 'The same as PUT' },
  {
    ...issueOperation,
    method: 'POST',
    path: `${issuesPath}/:id/status/`,
    operationId: 'changeIssueStatus',
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
  },
];
