import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import {
  guestLinksMax,
  guestLinksOfOneMax,
  linkInputSchema,
  linkSchema,
  linksMax,
} from './issue-link.schemas.ts';
import {
  etagHeader,
  ifMatchProblem,
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  personLookupProblems,
  preconditionHeaders,
} from './operation-parts.schemas.ts';

const path = `${issuesPath}/:id/links/`;
const staleProblem = {
  status: 412,
  codes: ['precondition_failed'],
  description: 'The issue has been changed since the ETag in `If-Match`.',
} as const;

const putHeaders = { ...etagHeader, ...ignoredFieldsHeader };

export const putLink = operation({
  id: 'putLink',
  ...issueOperation,
  tags: ['Links'],
  method: 'POST',
  path,
  summary: 'Link an issue to a resource',
  description: `Updates the link if the issue has one with this type and ref. An issue has at most ${linksMax} links. \`external_issue\` is for staff. In a project that everyone reads, people who may not change the issue add at most ${guestLinksOfOneMax} links each to tickets, entities and invoices, while it has fewer than ${guestLinksMax}, and change and delete only their own. URLs are never fetched.`,
  params: issueParams,
  headers: preconditionHeaders,
  body: {
    schema: linkInputSchema,
    example: { type: 'invoice', ref: '2024-17', relation: 'blocks' },
  },
  responses: {
    200: {
      description: 'The updated link.',
      schema: linkSchema,
      headers: putHeaders,
    },
    201: { description: 'The new link.', schema: linkSchema, headers: putHeaders },
  },
  problems: [
    ifMatchProblem,
    401,
    403,
    issueNotFound,
    staleProblem,
    { status: 422, codes: ['validation_failed', 'unknown_identity'] },
    ...personLookupProblems,
  ],
});

export const deleteLink = operation({
  id: 'deleteLink',
  ...issueOperation,
  tags: ['Links'],
  method: 'DELETE',
  path: `${path}:link_id/`,
  summary: 'Delete a link of an issue',
  description: 'The other system is not changed. The history keeps the link.',
  params: issueParams.extend({ link_id: uuid() }),
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [
    ifMatchProblem,
    401,
    403,
    { status: 404, codes: ['issue_not_found', 'link_not_found'] },
    staleProblem,
    422,
  ],
});
