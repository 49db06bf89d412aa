import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import {
  changeStatusSchema,
  createIssueSchema,
  issueStatusSchema,
  updateIssueSchema,
} from './issue-input.schemas.ts';
import {
  issueCountsQuerySchema,
  issueCountsSchema,
  issueListQuerySchema,
  issuePageQuerySchema,
  issuePageSchema,
} from './issue-query.schemas.ts';
import { issueDescriptionSchema, issueSchema, listedIssueSchema } from './issue-response.schemas.ts';
import {
  etagHeader,
  idempotencyHeaders,
  ifMatchProblem,
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  keyReusedCode,
  knownEtagHeaders,
  listEtagHeader,
  listHeaders,
  locationHeader,
  personLookupProblems,
  preconditionHeaders,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

const issueResponse = { description: 'The issue.', schema: issueSchema, headers: etagHeader };
const replayable = {
  ...issueResponse,
  headers: { ...etagHeader, ...replayedHeader, ...ignoredFieldsHeader },
};
const preconditionProblems = [
  ifMatchProblem,
  {
    status: 412,
    codes: ['precondition_failed'],
    description: 'The issue has been changed since the ETag in `If-Match`.',
  },
  {
    status: 428,
    codes: ['precondition_required'],
    description: '`If-Match` or `version` is required by configuration.',
  },
] as const;

const update = {
  ...issueOperation,
  path: `${issuesPath}/:id/`,
  description:
    'Only given members change, at least one besides `version`; `links` and `labels` replace the whole list. Equal values change nothing. The status has its own endpoint: the current one is accepted, another one is refused.',
  params: issueParams,
  headers: preconditionHeaders,
  body: {
    schema: updateIssueSchema,
    example: { title: 'Invoice 2024-17 is not printed', priority: 'URGENT' },
  },
  responses: { 200: { ...issueResponse, headers: { ...etagHeader, ...ignoredFieldsHeader } } },
  problems: [
    401,
    403,
    issueNotFound,
    {
      status: 409,
      codes: ['version_conflict', 'too_many_attachments'],
      description:
        '`version_conflict`: nothing was changed; `issue` is the current issue; `too_many_attachments`.',
      members: { issue: issueSchema },
    },
    ...preconditionProblems,
    {
      status: 422,
      codes: ['validation_failed', 'unknown_identity', 'cannot_read', 'status_not_writable'],
      description: 'The request is invalid; `status_not_writable` if it would change the status.',
    },
    ...personLookupProblems,
  ],
} as const;

const shortened =
  'A page of issues, shortened: without comments and the metadata of links. With `fields`, each issue has only these members.';

const countsEtagHeader = { ETag: z.string().describe('ETag of the counts, for `If-None-Match`.') };
const notModifiedPage = { description: 'The page has not changed.', headers: listEtagHeader };

export const listIssues = operation({
  id: 'listIssues',
  ...issueOperation,
  method: 'GET',
  path: `${issuesPath}/`,
  summary: 'List issues',
  description:
    'Returns an array, newest first, with a `Link` to the next page. A page of large issues ends before 512 KiB, and one of filters that few issues match may end early, so follow `Link`. Unknown parameters are refused.',
  query: issueListQuerySchema,
  headers: listHeaders,
  responses: {
    200: {
      description: shortened,
      schema: z.array(listedIssueSchema),
      headers: {
        ...listEtagHeader,
        ...nextLinkHeader,
        'X-Total-Count': z
          .string()
          .optional()
          .describe(
            'The number of matching issues, on the first page of an array. Absent above 10,000, and where counting takes long.',
          ),
      },
    },
    304: notModifiedPage,
  },
  problems: [
    401,
    unverifiedProblem,
    { status: 404, codes: ['invalid_page'], description: '`invalid_page`: the page is past the end.' },
    422,
  ],
});

export const listIssuePages = operation({
  id: 'listIssuePages',
  ...issueOperation,
  method: 'GET',
  path: '/api/v1/issue-pages/',
  summary: 'List issues by page number, with their count',
  description:
    'Returns an object with the number of matching issues, at most 100,000. A page of large issues ends before 512 KiB, and one of filters that few issues match may end early, so follow `next`. Unknown parameters are refused.',
  query: issuePageQuerySchema,
  headers: listHeaders,
  responses: {
    200: {
      description: shortened,
      schema: issuePageSchema,
      headers: listEtagHeader,
    },
    304: notModifiedPage,
  },
  problems: [
    401,
    unverifiedProblem,
    { status: 404, codes: ['invalid_page'], description: '`invalid_page`: the page is past the end.' },
    422,
  ],
});

export const countIssues = operation({
  id: 'countIssues',
  ...issueOperation,
  method: 'GET',
  path: `${issuesPath}/counts/`,
  summary: 'Count issues by status, priority or assignee',
  description:
    'Counts the issues that match the filters of a list. Every status and every priority has a count; of the assignees, those with the most issues. A count ends at 10,000.',
  query: issueCountsQuerySchema,
  headers: listHeaders,
  responses: {
    200: { description: 'The counts.', schema: issueCountsSchema, headers: countsEtagHeader },
    304: { description: 'The counts have not changed.', headers: countsEtagHeader },
  },
  problems: [401, unverifiedProblem, 422],
});

export const describeIssues = operation({
  id: 'describeIssues',
  ...issueOperation,
  method: 'OPTIONS',
  path: `${issuesPath}/`,
  summary: 'Describe the fields of an issue',
  description: 'The members of an issue with their types, limits and choices, for forms.',
  responses: {
    200: {
      description: 'Fields, limits and choices.',
      schema: issueDescriptionSchema,
      headers: { Allow: z.string().describe('The methods of the path.') },
    },
  },
  problems: [401, unverifiedProblem],
});

export const createIssue = operation({
  id: 'createIssue',
  ...issueOperation,
  method: 'POST',
  path: `${issuesPath}/`,
  summary: 'Create an issue',
  description:
    'The caller becomes the reporter. The status is `OPEN`. Send an `Idempotency-Key` to repeat the request safely.',
  headers: idempotencyHeaders,
  body: {
    schema: createIssueSchema,
    example: { title: 'Invoice is not printed', description: 'Since **Monday**.', priority: 'HIGH' },
  },
  responses: { 201: { ...replayable, headers: { ...replayable.headers, ...locationHeader } } },
  problems: [
    401,
    403,
    {
      status: 409,
      codes: ['request_in_progress', 'project_archived', 'too_many_attachments'],
      description:
        '`request_in_progress`: a request with the same key is in progress; `project_archived`; `too_many_attachments`.',
    },
    {
      status: 422,
      codes: ['validation_failed', 'unknown_identity', 'cannot_read', 'status_not_writable', keyReusedCode],
    },
    ...personLookupProblems,
  ],
});

export const getIssue = operation({
  id: 'getIssue',
  ...issueOperation,
  method: 'GET',
  path: `${issuesPath}/:id/`,
  summary: 'Read an issue, with its newest comments',
  description:
    'Has the newest comments; `comments_url` has all. With `If-None-Match`, an unchanged issue is 304.',
  params: issueParams,
  headers: knownEtagHeaders,
  responses: { 200: issueResponse, 304: { description: 'Not modified.', headers: etagHeader } },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});

export const updateIssue = operation({
  ...update,
  id: 'updateIssue',
  method: 'PUT',
  summary: 'Update an issue',
});

export const patchIssue = operation({
  ...update,
  id: 'patchIssue',
  method: 'PATCH',
  summary: 'Update an issue, like PUT',
});

export const changeIssueStatus = operation({
  ...issueOperation,
  id: 'changeIssueStatus',
  method: 'POST',
  path: `${issuesPath}/:id/status/`,
  summary: 'Change the status of an issue',
  description:
    'The workflow: OPEN → IN_PROGRESS, RESOLVED, CLOSED; IN_PROGRESS → OPEN, RESOLVED, CLOSED; RESOLVED → CLOSED, REOPENED; CLOSED → REOPENED; REOPENED → IN_PROGRESS, RESOLVED, CLOSED. The current status is accepted and changes nothing.',
  params: issueParams,
  headers: preconditionHeaders.extend(idempotencyHeaders.shape),
  body: {
    schema: changeStatusSchema,
    example: { status: 'RESOLVED', comment: 'The printer had no paper.' },
  },
  responses: { 200: replayable },
  problems: [
    401,
    403,
    issueNotFound,
    {
      status: 409,
      codes: ['illegal_transition', 'version_conflict', 'request_in_progress', 'too_many_attachments'],
      description:
        '`illegal_transition` with `current_status` and `allowed_transitions`; `version_conflict` with `issue`; `request_in_progress`; `too_many_attachments`.',
      members: {
        issue: issueSchema,
        current_status: issueStatusSchema,
        allowed_transitions: z.array(issueStatusSchema),
      },
    },
    ...preconditionProblems,
    { status: 422, codes: ['validation_failed', keyReusedCode] },
  ],
});
