import { z } from 'zod';
import { sessionSchema } from '../identity/session.operations.ts';
import { passwordGrantSchema } from '../identity/token.schemas.ts';
import { ignoredFieldsHeader, type Operation, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { fullUserSchema } from './user.schemas.ts';

// The operations of the web app's session. They belong to the app and may change with it, so they are not part of the API
// document.

/**
 * The header of each request below `/app`: the id of the person of the page. The service refuses the request with 409
 * `other_user` if the session is that of another person, or if the header is missing. `startSession` does not need it,
 * nor does a page that asks by `getSession` who it is. The query of a stream has it as `user`.
 */
export const userHeader = 'X-Tessera-User';

const tags = ['Web session'];
const eventsCursor = z
  .string()
  .nullable()
  .describe(
    'A place in the feed of events. What is read later includes all changes before it. Null without a feed.',
  );
const expiresAt = z.iso.datetime().describe('The end of the session, unless it is used.');

export const startSession = operation({
  id: 'startSession',
  method: 'POST',
  path: '/app/session',
  summary: 'Sign in and set the cookie',
  tags,
  body: { schema: passwordGrantSchema.pick({ email: true, password: true, new_password: true }) },
  responses: {
    200: {
      description: 'Signed in.',
      schema: z.object({ user: fullUserSchema, events_cursor: eventsCursor, expires_at: expiresAt }),
      headers: ignoredFieldsHeader,
    },
  },
});

export const getSession = operation({
  id: 'getSession',
  method: 'GET',
  path: '/app/session',
  summary: 'Read the user of the session',
  tags,
  responses: {
    200: {
      description: 'The user, or null.',
      schema: z.object({ user: fullUserSchema.nullable(), events_cursor: eventsCursor }),
    },
  },
});

export const endSession = operation({
  id: 'endSession',
  method: 'DELETE',
  path: '/app/session',
  summary: 'Sign out',
  tags,
  responses: { 204: { description: 'Signed out, or there was no session.' } },
});

export const listOwnSessions = operation({
  id: 'listOwnSessions',
  method: 'GET',
  path: '/app/sessions',
  summary: 'List the sessions of the user, newest first',
  tags,
  responses: {
    200: {
      description: 'At most 100 sessions, of all clients.',
      schema: z.object({ sessions: z.array(sessionSchema.extend({ is_current: z.boolean() })) }),
    },
  },
});

export const endOwnSession = operation({
  id: 'endOwnSession',
  method: 'DELETE',
  path: '/app/sessions/:id',
  summary: 'End a session of the user',
  tags,
  params: z.object({ id: uuid() }),
  responses: { 204: { description: 'Ended.' } },
});

export const endOwnSessions = operation({
  id: 'endOwnSessions',
  method: 'DELETE',
  path: '/app/sessions',
  summary: 'End all sessions of the user, this one included',
  tags,
  responses: { 204: { description: 'Ended.' } },
});

/** The operations of the web app's session. */
export const webSessionOperations = [
  startSession,
  getSession,
  endSession,
  listOwnSessions,
  endOwnSession,
  endOwnSessions,
] as const satisfies readonly Operation[];
