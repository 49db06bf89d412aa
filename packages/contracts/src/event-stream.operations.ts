import { z } from 'zod';
import { eventQuerySchema, type IssueEventType, issueEventFeedSchema, issueEvents } from './event.schemas.ts';
import { unverifiedProblem } from './issues/operation-parts.schemas.ts';
import { operation } from './operation.ts';
import { flag, oneOrMore, valuesOf } from './query-value.schemas.ts';

/** Maximum number of open streams of an identity, in one process. */
export const streamsPerIdentityMax = 6;
/** Maximum number of open streams of a process. */
export const streamsMax = 10_000;
/** Maximum number of events that a resumed stream sends again. A stream further behind gets a reset. */
export const streamBacklogMax = 1_000;

const streamedIssuesMax = 100;
const eventTypes = Object.keys(issueEvents) as IssueEventType[];

/** The query of the stream of events. Unknown parameters are refused. */
export const eventStreamQuerySchema = z.strictObject({
  after: eventQuerySchema.shape.after.describe(
    'The `id` of an earlier event of the stream, or the `next` of the feed; by default and with `now`, the stream starts with later events. `Last-Event-ID` takes precedence.',
  ),
  issue: valuesOf(streamedIssuesMax, 'issues')
    .optional()
    .describe(
      `Only events of these issues: at most ${streamedIssuesMax} ids, keys or numbers, separated by commas. Unknown ones match no event.`,
    ),
  types: oneOrMore(z.enum(eventTypes), eventTypes)
    .optional()
    .describe('Only events of these types, separated by commas.'),
  notifications: flag
    .optional()
    .describe(
      'Whether to send the number of unread notifications of the caller, also if `issue` and `types` exclude all events.',
    ),
});

export const streamEvents = operation({
  id: 'streamEvents',
  method: 'GET',
  path: '/api/v1/events/stream/',
  summary: 'Receive the events of all issues as they happen',
  description: `Server-sent events (HTML standard, 9.2). \`event\` is the type, \`data\` the event as in \`listEvents\`, \`id\` the cursor after it. A client that sends the last \`id\` as \`Last-Event-ID\` or \`after\` resumes without loss and without repetition. \`event: reset\` with the data \`{"next":"…"}\` says that the cursor is more than ${streamBacklogMax} events behind, older than the kept events or of another database: read everything again; the stream continues from \`next\`. After 25 s without an event, a comment line and \`event: heartbeat\` with the data \`{}\` are sent; a client that has received nothing for a minute reconnects. Where lists come from a standby, \`event: position\` with the data \`{"position":"…"}\` precedes events: a value for \`X-Data-Position\`. With \`notifications=true\`, \`event: notifications\` with the data \`{"unread_count":3}\` says at the start, and whenever notifications of the caller were made or marked, how many are unread; it has no \`id\`. The stream ends when the access token expires, within 5 s after the identity was deactivated or has ended all its sessions, also by a new password, when the client does not read, and when the process stops: reconnect after the time of the last \`retry\`. Ignore unknown types.`,
  tags: ['Events'],
  security: ['accessToken'],
  query: eventStreamQuerySchema,
  headers: z.object({
    'Last-Event-ID': eventQuerySchema.shape.after.describe(
      'The last `id` that was received. Browsers send it when they reconnect.',
    ),
  }),
  responses: {
    200: {
      description: 'The stream, which stays open.',
      eventStream: issueEventFeedSchema.shape.events.element,
    },
  },
  problems: [
    401,
    unverifiedProblem,
    422,
    {
      status: 429,
      codes: ['too_many_streams'],
      description: `Too many requests; \`too_many_streams\`: the identity has ${streamsPerIdentityMax} open streams in this process.`,
    },
    {
      status: 503,
      codes: ['streams_exhausted'],
      description: `A dependency is unavailable, or the service is overloaded; \`streams_exhausted\`: the process has ${streamsMax} open streams.`,
    },
  ],
});
