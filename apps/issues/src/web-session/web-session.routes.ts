import {
  createAppClient,
  disableAppClient,
  endOwnSession,
  endOwnSessions,
  endSession,
  finishHostedSignIn,
  getSession,
  listAppClients,
  listOwnSessions,
  rotateAppClientSecret,
  signOutEverywhere,
  startHostedSignIn,
  startSession,
  streamEvents,
  takeLogout,
  userHeader,
} from '@tessera/contracts';
import { type Access, everyone, type Guard, guard, type Route, route } from '@tessera/service-kit';
import { findActor } from '../authentication/authenticate.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Actor } from '../issue-core/actor.ts';
import { limitAddresses, limitRate } from '../rate-limit/rate-limiter.ts';
import { assertMayAdministerUsers } from '../users/user-access.ts';
import { clientAdministration } from './client-administration.ts';
import { hostedHandlers } from './hosted.handlers.ts';
import type { HostedSignIn } from './hosted-sign-in.ts';
import { webSessionHandlers } from './web-session.handlers.ts';
import { sessionAccesses } from './web-session-access.ts';

/**
 * Returns the routes below `/app`: the session, and the routes of the API with the session's access token in the place of the
 * header. Without the web app there are none, so every path is 404.
 */
export function createWebSessionRoutes(
  dependencies: Dependencies,
  createApiRoutes: (access: Record<'member' | 'uploads' | 'contents', Access<Actor>>) => Route[],
  answered?: Access<unknown>['answered'],
): { routes: Route[]; guards: Record<string, Guard> } {
  const { config, webSessions, mirror, access, users, events, rateLimits, shares } = dependencies;
  if (webSessions === undefined) return { routes: [], guards: {} };
  const { service: sessions, cookie, hosted } = webSessions;
  const { requireVerified, publicBaseUrl } = config;
  const { member, uploads, contents, open, navigation, leaving } = sessionAccesses({
    sessions,
    cookie,
    publicBaseUrl,
    answered,
    mirror,
    access,
    requireVerified,
  });
  const reads = limitRate(rateLimits.reads, shares.requests);
  const writes = limitRate(rateLimits.writes, shares.requests);
  const signIns = limitAddresses(rateLimits.signIns);
  const actorOf = findActor({ mirror, access, requireVerified: 'off' });
  const handlers = webSessionHandlers({
    sessions,
    users,
    events,
    cookie,
    actorOf,
    reads,
    isHosted: hosted !== undefined,
  });
  const body = { limitBytes: 16 * 1024 };
  const hostedRoutes = (signIn: HostedSignIn) => {
    const { flows, identityTransport } = webSessions;
    const clients = clientAdministration(identityTransport);
    const staff = { access: member, authorize: assertMayAdministerUsers };
    const { logger } = dependencies;
    const parts = { sessions, flows, cookie, publicBaseUrl, signIns, logger };
    const options = { ...parts, hosted: signIn, assertUsable: actorOf };
    const { start, finish, signOut, takeLogout: take } = hostedHandlers(options);
    return [
      route(startHostedSignIn, { access: navigation }, start),
      route(finishHostedSignIn, { access: navigation }, finish),
      route(signOutEverywhere, { access: leaving }, signOut),
      route(listAppClients, { ...staff, limit: reads }, clients.list),
      route(createAppClient, { ...staff, limit: writes, body }, clients.create),
      route(rotateAppClientSecret, { ...staff, limit: writes }, clients.rotate),
      route(disableAppClient, { ...staff, limit: writes }, clients.disable),
      // Identity sends it. The handler verifies the token.
      route(takeLogout, { access: everyone, body }, take),
    ];
  };
  const session = { member, uploads, contents };
  const api = createApiRoutes(session).filter(({ access }) =>
    Object.values<unknown>(session).includes(access),
  );
  return {
    guards: {
      '/app/api/v1': guard({ access: member, limit: reads }),
      '/app': guard({ access: open }),
    },
    routes: [
      ...api.map((one) => belowApp(one.operation.id === streamEvents.id ? withUserInQuery(one) : one)),
      ...[
        route(getSession, { access: open }, handlers.get),
        ...(hosted === undefined
          ? [route(startSession, { access: open, limit: signIns, body }, handlers.start)]
          : hostedRoutes(hosted)),
        route(endSession, { access: open }, handlers.end),
        route(listOwnSessions, { access: member, limit: reads }, handlers.list),
        route(endOwnSessions, { access: member, limit: writes }, handlers.endAll),
        route(endOwnSession, { access: member, limit: writes }, handlers.endOne),
      ].map(undocumented),
    ],
  };
}

function belowApp(api: Route): Route {
  const { operation, ...rest } = undocumented(api);
  return { ...rest, operation: { ...operation, path: `/app${operation.path}` } };
}

// EventSource sends no headers of the page, so the query of a stream names its person.
function withUserInQuery({ serve, ...rest }: Route): Route {
  return {
    ...rest,
    serve: (request, response) => {
      const [path, ...search] = (request.url ?? '').split('?');
      const query = new URLSearchParams(search.join('?'));
      const user = query.get('user');
      if (user !== null) {
        query.delete('user');
        request.headers[userHeader.toLowerCase()] ??= user;
        request.url = query.size === 0 ? path : `${path}?${query}`;
      }
      return serve(request, response);
    },
  };
}

// Without its id, an operation is not one of the API document.
function undocumented({ operation: { id: _id, ...operation }, ...rest }: Route): Route {
  return { ...rest, operation };
}
