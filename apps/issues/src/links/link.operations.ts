import { linkInputSchema, linkSchema, uuid } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { issuesPath } from '../issues/issue-address.ts';
import { etagHeader, issueOperation, issueParams, preconditionHeaders } from '../issues/issue-operation.ts';

const path = `${issuesPath}/:id/links/`;
const staleProblem = { status: 412, description: 'The issue is not any more what `If-Match` names.' };

export const linkOperations: ApiOperation[] = [
  {
    ...issueOperation,
    method: 'POST',
    path,
    operationId: 'putLink',
    summary: 'Link an issue to something',
    description:
      'What is linked already, by type and ref, is updated. At most 50 on one issue. `external_issue` is for staff. Nothing is ever fetched.',
    params: issueParams,
    headers: preconditionHeaders,
    body: { schema: linkInputSchema },
    responses: {
      200: {
        description: 'The link was there; it has these details now.',
        schema: linkSchema,
        headers: etagHeader,
      },
      201: { description: 'The new link.', schema: linkSchema, headers: etagHeader },
    },
    problems: [401, 403, 404, staleProblem, 422, 502],
  },
  {
    ...issueOperation,
    method: 'DELETE',
    path: `${path}:linkId/`,
    operationId: 'deleteLink',
    summary: 'Take a link from an issue',
    params: issueParams.extend({ linkId: uuid() }),
    headers: preconditionHeaders,
    responses: { 204: { description: 'Gone.' } },
    problems: [401, 403, 404, staleProblem, 422],
  },
];
