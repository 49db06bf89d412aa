import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { issueSummarySchema } from './issue-response.schemas.ts';
import { issueNotFound, issueParams, issuesPath, unverifiedProblem } from './operation-parts.schemas.ts';

/** Whether the caller watches an issue. */
export const watchingSchema = z
  .object({ issue_id: uuid(), is_watching: z.boolean() })
  .meta({ id: 'Watching' });
export type Watching = z.infer<typeof watchingSchema>;

/** An issue that the caller watches. */
export const watchedIssueSchema = issueSummarySchema
  .pick({ id: true, number: true, key: true, title: true, status: true, priority: true, updated_at: true })
  .extend({ watching_since: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.') })
  .meta({ id: 'WatchedIssue' });
export type WatchedIssue = z.infer<typeof watchedIssueSchema>;

const common = { tags: ['Watching'], security: ['accessToken'] };
const watch = {
  ...common,
  path: `${issuesPath}/:id/watch/`,
  params: issueParams,
  problems: [401, unverifiedProblem, issueNotFound, 422],
} as const;
const state = { description: 'Whether the caller watches the issue.', schema: watchingSchema };

export const getWatching = operation({
  ...watch,
  id: 'getWatching',
  method: 'GET',
  summary: 'Read whether you watch an issue',
  description:
    'The reporter, the assignee, authors of comments and mentioned people watch an issue automatically, unless they have stopped. An import does not make its user a watcher.',
  responses: { 200: state },
});

export const startWatching = operation({
  ...watch,
  id: 'startWatching',
  method: 'PUT',
  summary: 'Watch an issue',
  description: 'Every user may watch every issue. Watching a watched issue changes nothing.',
  responses: { 200: state },
});

export const stopWatching = operation({
  ...watch,
  id: 'stopWatching',
  method: 'DELETE',
  summary: 'Stop watching an issue',
  description:
    'Stays in effect when you comment, are assigned or are mentioned later, until you watch the issue again. A repeated request changes nothing.',
  responses: { 204: { description: 'Not watching.' } },
});

export const listWatching = operation({
  ...common,
  id: 'listWatching',
  method: 'GET',
  path: '/api/v1/users/me/watching/',
  summary: 'List the issues that you watch, the last watched first',
  description: 'Follow `Link` for further pages.',
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of issues.', schema: z.array(watchedIssueSchema), headers: nextLinkHeader },
  },
  problems: [401, unverifiedProblem, 422],
});
