import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AccessTokenClaims,
  type endOwnSession,
  type endOwnSessions,
  type endSession,
  type getSession,
  type listOwnSessions,
  type startSession,
  userHeader,
} from '@tessera/contracts';
import { type EventFeed, type Handler, type Limit, originOf, ProblemError } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import { presentFullUser } from '../users/user.presenter.ts';
import type { UserService } from '../users/user.service.ts';
import type { SessionCookie } from './session-id.ts';
import type { WebSessionService } from './web-session.service.ts';
import { assertMadeFor, type SessionActor } from './web-session-access.ts';

interface WebSessionHandlersOptions {
  sessions: WebSessionService;
  users: UserService;
  events: Pick<EventFeed, 'findEnd'>;
  cookie: SessionCookie;
  /** Finds the actor of verified claims. A person whose e-mail is not verified may sign in and out. */
  actorOf: (claims: AccessTokenClaims, request: IncomingMessage) => Promise<Actor>;
  reads: Limit<Actor>;
  /** Whether people sign in on identity's pages. */
  isHosted: boolean;
}

/** Handlers of the web app's session. */
export function webSessionHandlers(options: WebSessionHandlersOptions) {
  const { sessions, users, events, cookie, actorOf, reads, isHosted } = options;
  const mode = isHosted ? ({ sign_in: 'hosted' } as const) : {};
  const signedOut = { status: 200, body: { user: null, events_cursor: null, ...mode } } as const;
  const readUser = async (claims: AccessTokenClaims, request: IncomingMessage, response?: ServerResponse) => {
    const actor = await actorOf(claims, request);
    if (response !== undefined) await reads.request(actor, response);
    return presentFullUser(await users.find(actor, actor.id, request.requestId ?? ''));
  };

  // The cache has pages to go back to. The storage has the drafts and settings of other people of this browser, so the app deletes
  // the person's own.
  const leaving = { 'Set-Cookie': cookie.clear(), 'Clear-Site-Data': '"cache"' };

  const start: Handler<typeof startSession> = async ({ body, request }) => {
    const context = { replaced: cookie.read(request), browser: originOf(request) };
    const { sessionId, claims, expiresAt } = await sessions.signIn(body, context);
    try {
      return {
        status: 200,
        headers: { 'Set-Cookie': cookie.set(sessionId) },
        body: {
          user: await readUser(claims, request),
          events_cursor: await events.findEnd(),
          expires_at: expiresAt.toISOString(),
        },
      };
    } catch (error) {
      // Without its cookie, the session would be of no use.
      await sessions.signOut(sessionId, originOf(request));
      throw error;
    }
  };

  const get: Handler<typeof getSession> = async ({ request, response }) => {
    const sessionId = cookie.read(request);
    if (sessionId === undefined) return signedOut;
    try {
      const { claims } = await sessions.authenticate(sessionId, originOf(request));
      // A page that does not know its person yet asks here.
      if (request.headers[userHeader.toLowerCase()] !== undefined) assertMadeFor(claims.sub, request);
      const user = await readUser(claims, request, response);
      return { status: 200, body: { user, events_cursor: await events.findEnd(), ...mode } };
    } catch (error) {
      if (error instanceof ProblemError && error.status === 401) return signedOut;
      throw error;
    }
  };

  const end: Handler<typeof endSession> = async ({ request }) => {
    const sessionId = cookie.read(request);
    if (sessionId !== undefined) {
      // Also while identity is down, when the session cannot be authenticated.
      const identityId = await sessions.findIdentity(sessionId);
      if (identityId !== undefined) assertMadeFor(identityId, request);
      await sessions.signOut(sessionId, originOf(request));
    }
    return { status: 204, headers: leaving };
  };

  const list: Handler<typeof listOwnSessions, SessionActor> = async ({ actor, requestId }) => {
    const found = await sessions.listSessions(actor.id, requestId);
    const { identitySessionId } = actor.session;
    return {
      status: 200,
      body: { sessions: found.map((one) => ({ ...one, is_current: one.id === identitySessionId })) },
    };
  };

  const endOne: Handler<typeof endOwnSession, SessionActor> = async ({ actor, params, requestId }) => {
    await sessions.endSession(actor.id, params.id, requestId);
    const isCurrent = params.id === actor.session.identitySessionId;
    return { status: 204, ...(isCurrent && { headers: leaving }) };
  };

  const endAll: Handler<typeof endOwnSessions, SessionActor> = async ({ actor, requestId }) => {
    await sessions.endAllSessions(actor.id, requestId);
    return { status: 204, headers: leaving };
  };

  return { start, get, end, list, endOne, endAll };
}
