import type { IncomingMessage } from 'node:http';
import {
  type AccessTokenClaims,
  type finishHostedSignIn,
  type signOutEverywhere,
  startHostedSignIn,
  type takeLogout,
} from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import { type Handler, type Limit, type Logger, originOf, ProblemError } from '@tessera/service-kit';
import type { HostedSignIn } from './hosted-sign-in.ts';
import { CodeRefusedError } from './oidc-token-client.ts';
import type { SessionCookie } from './session-id.ts';
import { ownTarget, type SignInFlows } from './sign-in-flow.ts';
import type { WebSessionService } from './web-session.service.ts';

interface HostedHandlersOptions {
  hosted: HostedSignIn;
  sessions: WebSessionService;
  flows: SignInFlows;
  cookie: SessionCookie;
  publicBaseUrl: string;
  /** Throws if the person of the claims may not sign in. */
  assertUsable: (claims: AccessTokenClaims, request: IncomingMessage) => Promise<unknown>;
  /** Of an address. */
  signIns: Limit<undefined>;
  logger: Logger;
}

/** Why a sign-in has failed; the app's page has a sentence for each. */
type Failure = 'expired' | 'refused' | 'unavailable' | 'inactive' | 'failed';

/** Where a window goes that was opened over a page. */
const popupTarget = '/sign-in?popup=1';

/** Handlers of the sign-in on identity's pages. They answer navigations, so a failure returns to a page of the app. */
export function hostedHandlers(options: HostedHandlersOptions) {
  const { hosted, sessions, flows, cookie, publicBaseUrl, assertUsable, signIns, logger } = options;
  const { origin, host } = new URL(publicBaseUrl);

  const to = (path: string) => ({ status: 303, headers: { Location: publicBaseUrl + path } }) as const;
  const failed = (failure: Failure, target?: string) => {
    const query = new URLSearchParams({ problem: failure });
    if (target === popupTarget) query.set('popup', '1');
    else if (target !== undefined) query.set('next', target);
    return to(`/sign-in?${query}`);
  };

  const start: Handler<typeof startHostedSignIn> = async ({ query, request, response }) => {
    // The cookie of the flow must be one of the host to which identity leads back. Once: a proxy may change the header.
    if (request.headers.host !== host && query.moved === undefined) {
      const search = new URLSearchParams(request.url?.split('?')[1]);
      search.set('moved', '1');
      return to(`${startHostedSignIn.path}?${search}`);
    }
    const target = query.popup === undefined ? ownTarget(query.next, origin) : popupTarget;
    const { login_hint: loginHint, prompt } = query;
    const wanted = { target, replaced: cookie.read(request), loginHint, prompt };
    try {
      const { url, cookies } = await hosted.begin(request, wanted);
      response.setHeader('Set-Cookie', cookies);
      return { status: 303, headers: { Location: url } };
    } catch (error) {
      return failed(explain(error, request), target);
    }
  };

  const finish: Handler<typeof finishHostedSignIn> = async ({ query, request, response }) => {
    const ended = flows.end(request, query.state);
    // Another browser has begun it, or it was too long ago. Nothing of the response is used.
    if (ended === undefined) return failed('expired');
    const { flow, cookie: noFlow } = ended;
    response.setHeader('Set-Cookie', noFlow);
    // RFC 9207: a response of another issuer is not used, nor is its error.
    if (query.iss !== hosted.issuer || (query.code === undefined) === (query.error === undefined))
      return failed('failed', flow.target);
    if (query.code === undefined) return failed(failureOf(query.error), flow.target);
    try {
      await signIns.request(undefined, response);
      const { sessionId, claims } = await hosted.finish(query.code, flow, request);
      try {
        await assertUsable(claims, request);
      } catch (error) {
        await sessions.signOut(sessionId, originOf(request));
        throw error;
      }
      response.setHeader('Set-Cookie', [noFlow, cookie.set(sessionId)]);
      return to(flow.target);
    } catch (error) {
      return failed(explain(error, request), flow.target);
    }
  };

  const signOut: Handler<typeof signOutEverywhere> = async ({ query, request, response }) => {
    const sessionId = cookie.read(request);
    const identityId = sessionId === undefined ? undefined : await sessions.findIdentity(sessionId);
    // The page belongs to another person than the session. The list tells whose it is.
    if (identityId !== undefined && identityId !== query.user) return to('/issues');
    response.setHeader('Set-Cookie', cookie.clear());
    response.setHeader('Clear-Site-Data', '"cache"');
    try {
      return { status: 303, headers: { Location: await hosted.signOut(sessionId, request) } };
    } catch (error) {
      return failed(explain(error, request));
    }
  };

  const takeLogoutToken: Handler<typeof takeLogout> = async ({ body, requestId }) => {
    try {
      await hosted.endByLogoutToken(body.logout_token, requestId);
    } catch (error) {
      if (!(error instanceof InvalidTokenError)) throw error;
      // Back-Channel Logout 2.8 names this code.
      throw new ProblemError({
        status: 400,
        code: 'invalid_request',
        detail: 'The logout token is not accepted.',
        logged: { reason: error.reason },
      });
    }
    return { status: 200, headers: { 'Cache-Control': 'no-store' } };
  };

  function explain(error: unknown, { requestId }: IncomingMessage): Failure {
    if (error instanceof CodeRefusedError) return 'expired';
    if (!(error instanceof ProblemError)) throw error;
    if (error.status === 403) return 'inactive';
    logger.warn({ err: error.cause ?? error, request_id: requestId }, 'hosted sign-in failed');
    return error.status === 503 || error.status === 429 ? 'unavailable' : 'failed';
  }

  return { start, finish, signOut, takeLogout: takeLogoutToken };
}

// RFC 6749 4.1.2.1.
function failureOf(error: string | undefined): Failure {
  if (error === 'access_denied') return 'refused';
  return error === 'temporarily_unavailable' || error === 'server_error' ? 'unavailable' : 'failed';
}
