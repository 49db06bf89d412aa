import { isDeepStrictEqual } from 'node:util';
import { decodeJwt } from 'jose';
import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { Contender } from '../run/sample.ts';
import { startServerProcess } from '../run/server-process.ts';
import { createRequests, refreshConnections, refreshRequest, refreshTokens } from './endpoints.ts';
import { fetchDocument, type HttpContenderOptions, httpContender, probe } from './http-contender.ts';

/** Express and pg on the services' databases, and nothing else. */
export const bare = 'bare Express + pg';
/** The same server, which also signs the tokens of a refresh. */
export const bareSigning = 'bare Express + pg + two signatures';
/** Node's HTTP server with the same bytes: the minimum cost of a constant document. */
export const bareHttp = 'bare node:http';

// The default of the services (DATABASE_POOL_MAX).
const poolMax = 10;

type BareServer = Pick<HttpContenderOptions, 'origins' | 'pids' | 'usesDatabase'>;

function startBare(scope: Scope, { stack, people, issues }: Tessera): Promise<BareServer> {
  return start(scope, 'bare-express', {
    identityUrl: stack.databases.identity.service,
    issuesUrl: stack.databases.issues.service,
    publicUrl: issues.url,
    poolMax,
    actorId: people[0]?.id ?? '',
  });
}

async function start(scope: Scope, name: string, options: object): Promise<BareServer> {
  const entry = new URL(`../servers/${name}.server.ts`, import.meta.url);
  const { pid, ready, stop } = await startServerProcess<{ url: string }>(entry, options);
  scope.defer(stop);
  return { origins: [ready.url], pids: () => [pid], usesDatabase: true };
}

interface BareReadOptions {
  tessera: Tessera;
  service: 'identity' | 'issues';
  requests: LoadRequest[];
  /** The path on the bare server for the request with this index; default: the same path. */
  path?: (index: number) => string;
}

/** Reads from the bare server, after checking that its first document equals the service's. */
export async function bareReads(lab: Lab, scope: Scope, options: BareReadOptions): Promise<Contender> {
  const { tessera, service, requests, path } = options;
  const [first] = requests;
  if (first === undefined) throw new Error('there are no requests');
  const expected = await fetchDocument(tessera[service].url, first);
  const server = await startBare(scope, tessera);
  const own = requests.map((request, index) => ({ ...request, path: path?.(index) ?? request.path }));
  const checked = await probe(server.origins[0] ?? '', own, (document, request) => {
    if (request === own[0] && !isDeepStrictEqual(document, expected)) {
      throw new Error(`the response of ${bare} differs from the service's`);
    }
  });
  return httpContender(lab, { ...server, name: bare, requests: checked });
}

/** Rotates refresh tokens of the service on the bare server, which knows them by their `jti`. */
export async function bareRefreshes(lab: Lab, scope: Scope, tessera: Tessera): Promise<Contender> {
  return httpContender(lab, {
    ...(await startBare(scope, tessera)),
    name: bareSigning,
    requests: [refreshRequest],
    connections: refreshConnections,
    prepare: async () => {
      const tokens = (await refreshTokens(tessera)).map((token) => decodeJwt(token).jti ?? '');
      return { chain: { tokens, before: '{"refresh_token":"', after: '"}' } };
    },
  });
}

/** @param prepare as that of the endpoint */
export async function bareCreates(
  lab: Lab,
  scope: Scope,
  tessera: Tessera,
  prepare?: (tessera: Tessera) => Promise<Partial<Load>>,
): Promise<Contender> {
  return httpContender(lab, {
    ...(await startBare(scope, tessera)),
    name: bare,
    requests: createRequests(tessera),
    prepare: prepare && (() => prepare(tessera)),
  });
}

/** Node's HTTP server with the document that the service returns. */
export async function bareDocument(
  lab: Lab,
  scope: Scope,
  { tessera, request }: { tessera: Tessera; request: LoadRequest },
): Promise<Contender> {
  const body = JSON.stringify(await fetchDocument(tessera.identity.url, request));
  const server = await start(scope, 'bare-http', { body });
  const requests = await probe(server.origins[0] ?? '', [request]);
  return httpContender(lab, { ...server, name: bareHttp, requests, usesDatabase: false });
}
