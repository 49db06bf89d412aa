import type { IncomingMessage } from 'node:http';
import { userHeader } from '@tessera/contracts';
import { type Access, originOf, ProblemError } from '@tessera/service-kit';
import { type ActorOptions, findActor, isSafe, renewAccess } from '../authentication/authenticate.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { SessionCookie } from './session-id.ts';
import type { StoredSession } from './web-session.repository.ts';
import type { WebSessionService } from './web-session.service.ts';
import { crossSiteRequest, otherUser, signedOut } from './web-session-problem.ts';

/** The caller of an operation of the app. */
export interface SessionActor extends Actor {
  session: StoredSession;
}

interface SessionAccessOptions extends ActorOptions {
  sessions: WebSessionService;
  cookie: SessionCookie;
  publicBaseUrl: string;
  answered: Access<unknown>['answered'];
}

const headers = { 'Cache-Control': 'no-store' };

/** The access rules below `/app`: every request must come from the app's own pages. There is no CORS. */
export function sessionAccesses({
  sessions,
  cookie,
  publicBaseUrl,
  answered,
  ...options
}: SessionAccessOptions) {
  const actorOf = findActor(options);
  const assertOwnPage = sameOriginCheck(new URL(publicBaseUrl).origin);
  const assertOwnUpload = sameOriginCheck(new URL(publicBaseUrl).origin, () => undefined);
  const identifyAfter =
    (check: (request: IncomingMessage) => undefined, isOfPage: boolean) =>
    async (request: IncomingMessage): Promise<SessionActor> => {
      check(request);
      const sessionId = cookie.read(request);
      if (sessionId === undefined) throw signedOut();
      const { stored, claims } = await sessions.authenticate(sessionId, originOf(request));
      if (isOfPage) assertMadeFor(stored.identityId, request);
      return { ...(await actorOf(claims, request)), sessionKey: stored.idHash, session: stored };
    };
  const member: Access<SessionActor> = {
    headers,
    identify: identifyAfter(assertOwnPage, true),
    answered,
    renew: renewAccess(options),
  };
  /** For files of any type. */
  const uploads: Access<SessionActor> = { headers, identify: identifyAfter(assertOwnUpload, true), answered };
  /** For images, which have no header of the page, and for a URL that a person opens: both only read. */
  const contents: Access<SessionActor> = {
    headers,
    identify: identifyAfter((request) => (isOpened(request) ? undefined : assertOwnPage(request)), false),
    answered,
  };
  /** For requests with and without a session. */
  const open: Access<undefined> = { headers, identify: assertOwnPage, answered };
  /** For navigations on the way to identity and back, which begin at another site or in a new tab. */
  const navigation: Access<undefined> = { headers, identify: assertNavigation, answered };
  /** For a navigation of the app's own pages that ends a session. */
  const leaving: Access<undefined> = {
    headers,
    identify: (request) => {
      assertWanted(request);
      assertOwnPage(request);
    },
    answered,
  };
  return { member, uploads, contents, open, navigation, leaving };
}

// A browser that loads a page in advance would use up the code and the flow, or end the session.
function assertWanted({ method, headers: given }: IncomingMessage): undefined {
  const purposes = [given['sec-purpose'], given.purpose, given['x-moz']].flat().join(' ');
  if (method === 'HEAD' || /\b(?:prefetch|prerender|preview)\b/i.test(purposes))
    throw crossSiteRequest('the page is loaded in advance');
}

// The cookie of a flow protects the way back. Only a page of its own can be sent to identity and back, not an image.
function assertNavigation(request: IncomingMessage): undefined {
  assertWanted(request);
  const given = request.headers;
  const { 'sec-fetch-mode': mode = 'navigate', 'sec-fetch-dest': destination = 'document' } = given;
  if (mode !== 'navigate' || destination !== 'document') throw crossSiteRequest('it is no navigation');
}

/**
 * Throws 409 `other_user` unless the request names the person of its session. The cookie belongs to the browser: after another
 * person has signed in, an open page would go on as that person.
 */
export function assertMadeFor(
  identityId: string,
  { headers: given }: Pick<IncomingMessage, 'headers'>,
): void {
  if (given[userHeader.toLowerCase()] !== identityId) throw otherUser();
}

/**
 * Returns a check against cross-site request forgery. `Sec-Fetch-Site`, which scripts cannot set, must be `same-origin`;
 * without it, `Origin` must be the app's for a request that writes. `SameSite=Strict` alone is not enough: a page on another
 * port of the host is the same site. The further header makes other origins ask by a preflight, which is never granted.
 */
function sameOriginCheck(origin: string, assertBody = assertJson) {
  return (request: IncomingMessage): undefined => {
    const { method, headers: given } = request;
    const site = given['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin')
      throw crossSiteRequest(`Sec-Fetch-Site is not same-origin`);
    if (isSafe(method)) return;
    if (site === undefined && given.origin !== origin)
      throw crossSiteRequest('Origin is another, or missing');
    if (given['x-tessera-app'] !== '1') throw crossSiteRequest('X-Tessera-App is missing');
    assertBody(request);
  };
}

// No page made the browser send it.
function isOpened({ method, headers: given }: IncomingMessage): boolean {
  return isSafe(method) && given['sec-fetch-site'] === 'none' && given['sec-fetch-mode'] === 'navigate';
}

// A form can send text/plain and form types without a preflight. Routes check the type only of bodies that they read.
function assertJson({ headers: given }: IncomingMessage): void {
  const type = given['content-type'];
  const hasBody = given['transfer-encoding'] !== undefined || Number(given['content-length'] ?? 0) > 0;
  const isJson = /^application\/json\s*(;|$)/i.test(type ?? '');
  if (type === undefined ? !hasBody : isJson) return;
  throw new ProblemError({
    status: 415,
    code: 'unsupported_media_type',
    detail: 'The body must be application/json.',
  });
}
