import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { timelineQuerySchema } from '../page.schemas.ts';
import { activitySchema } from './issue-response.schemas.ts';
import {
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

export const listActivity = operation({
  id: 'listActivity',
  ...issueOperation,
  tags: ['Activity'],
  method: 'GET',
  path: `${issuesPath}/:id/activity/`,
  summary: 'List the history of an issue',
  description:
    'An entry for each change, with the old and the new value; oldest first, unless `order` is `newest`. Follow `Link` for further pages.',
  params: issueParams,
  query: timelineQuerySchema,
  responses: {
    200: {
      description: 'A page of the history.',
      schema: z.array(activitySchema),
      headers: nextLinkHeader,
    },
  },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});
