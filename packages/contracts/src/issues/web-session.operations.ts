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
const signIn = z
  .literal('hosted')
  .optional()
  .describe('The sign-in is on a page of identity. Absent if the app has a form of its own.');
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
      schema: z.object({
        user: fullUserSchema.nullable(),
        events_cursor: eventsCursor,
        sign_in: signIn,
      }),
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

const redirect = { 303: { description: 'To the next page.', headers: { Location: z.string() } } } as const;
const parameter = z.string().max(2000).optional();

/** Begins a sign-in on identity's pages. A navigation, not a request of the app. */
export const startHostedSignIn = operation({
  id: 'startHostedSignIn',
  method: 'GET',
  path: '/app/oidc/sign-in',
  summary: "Go to identity's page",
  tags,
  query: z.object({
    next: parameter.describe('The path of the app to return to.'),
    popup: z.literal('1').optional().describe('The page over which the window was opened goes on.'),
    login_hint: parameter.describe('The e-mail address to show.'),
    prompt: z.literal('login').optional().describe('Asks for the password also if a person is signed in.'),
    moved: z.literal('1').optional().describe('The request was sent to another host of the service before.'),
  }),
  responses: redirect,
});

/** The redirect URI (OpenID Connect Core 3.1.2.5). A failure returns to the app's page, which explains it. */
export const finishHostedSignIn = operation({
  id: 'finishHostedSignIn',
  method: 'GET',
  path: '/app/oidc/callback',
  summary: "Return from identity's page",
  tags,
  query: z.object({ code: parameter, state: parameter, iss: parameter, error: parameter }),
  responses: redirect,
});

/** Ends the session here and goes to identity, which ends those of all applications in this browser. A navigation. */
export const signOutEverywhere = operation({
  id: 'signOutEverywhere',
  method: 'GET',
  path: '/app/oidc/sign-out',
  summary: 'Sign out of all applications',
  tags,
  query: z.object({ user: parameter.describe('The person of the page.') }),
  responses: redirect,
});

const logoutToken = z.object({ logout_token: z.string().min(1).max(8192) });

/** OpenID Connect Back-Channel Logout 2.5: identity has signed a person out. */
export const takeLogout = operation({
  id: 'takeLogout',
  method: 'POST',
  path: '/app/oidc/backchannel-logout',
  summary: 'End the sessions of a logout token',
  tags,
  oauth: true,
  body: { schema: logoutToken, form: logoutToken },
  responses: { 200: { description: 'Ended.' } },
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
