import { eventQuerySchema, identityEventFeedSchema, issueEventFeedSchema } from './event.schemas.ts';
import { serviceTokenRefused } from './identity/identity.schemas.ts';
import { unverifiedProblem } from './issues/operation-parts.schemas.ts';
import { operation } from './operation.ts';

const guarantee =
  'Every committed change has its events, and every event its change. A reader that stores `next` after it has processed a page reads each event at least once, and exactly once if it never repeats a page.';

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/api/v1/events/',
  summary: 'Read the events of all issues',
  description: `${guarantee} Events of one issue are in the order of its \`version\`. Events are kept for 7 days by default. An empty page means that nothing happened: ask again after some seconds. Ignore unknown types.`,
  tags: ['Events'],
  security: ['accessToken'],
  query: eventQuerySchema,
  responses: { 200: { description: 'A page of events.', schema: issueEventFeedSchema } },
  problems: [401, unverifiedProblem, 422],
});

export const listIdentityEvents = operation({
  id: 'listIdentityEvents',
  method: 'GET',
  path: '/internal/events',
  summary: 'Read the events of all identities',
  description: `${guarantee} Changes of one identity are in their order. Events are kept for 7 days by default. An empty page means that nothing happened: ask again after some seconds. Ignore unknown types.`,
  tags: ['Internal identity API'],
  security: ['serviceToken'],
  query: eventQuerySchema,
  responses: { 200: { description: 'A page of events.', schema: identityEventFeedSchema } },
  problems: [serviceTokenRefused, 422],
});
