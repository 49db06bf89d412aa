import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { jtiOf } from '../lab/jti.ts';
import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { LoadRequest } from '../load/load.ts';
import type { Contender } from '../run/sample.ts';
import { startServerProcess } from '../run/server-process.ts';
import type { BareOptions } from '../servers/bare-express.server.ts';
import { httpContender } from './http-contender.ts';
import { fetchDocument, probed } from './probe.ts';
import { refreshConnections } from './tessera.ts';
import * as ask from './tessera-requests.ts';

/** Express and pg with the services' own statements, and nothing else. */
export const bare = 'bare Express + pg';

// The default of the services (DATABASE_POOL_MAX).
const poolMax = 10;

/** A bare server over the databases of the services. */
export interface BareServer {
  url: string;
  pid: number;
}

export async function startBare(lab: Lab, scope: Scope): Promise<BareServer> {
  const { stack, people } = await lab.tessera();
  const options: BareOptions = {
    identityUrl: stack.databases.identity.service,
    issuesUrl: stack.databases.issues.service,
    recipes: await lab.recipes(),
    poolMax,
    actorId: people[0]?.id ?? '',
  };
  const entry = new URL('../servers/bare-express.server.ts', import.meta.url);
  const { pid, ready, stop } = await startServerProcess(entry, options, z.object({ url: z.string() }));
  scope.defer(stop);
  return { pid, url: ready.url };
}

interface BareReadOptions {
  /** What the service answers. */
  service: string;
  requests: LoadRequest[];
  /** The bare server's path for a path of the service. */
  path: (request: LoadRequest, index: number) => string;
}

/** A path of the bare server, once it has been seen to answer what the service answers. */
export async function bareReads(lab: Lab, server: BareServer, options: BareReadOptions): Promise<Contender> {
  const { service, requests, path } = options;
  const [first] = requests;
  if (first === undefined) throw new Error('nothing to ask for');
  const wanted = await fetchDocument(service, first);
  const own = requests.map((request, index) => ({ ...request, path: path(request, index) }));
  const checked = await probed(server.url, own, (document, request) => {
    if (request === own[0] && !isDeepStrictEqual(document, wanted)) {
      throw new Error(`${bare} answers something else than the service`);
    }
  });
  return httpContender(lab, { ...asking(server), requests: checked });
}

/** What the bare server is called where it signs, too. */
export const bareSigning = 'bare Express + pg + two signatures';

/** The bare server that rotates refresh tokens of the service. */
export function bareRefreshes(lab: Lab, server: BareServer, tessera: Tessera): Contender {
  return httpContender(lab, {
    ...asking(server),
    name: bareSigning,
    requests: [ask.refreshRequest],
    connections: refreshConnections,
    prepare: async () => {
      const { chain } = await ask.refreshChain(tessera, refreshConnections);
      return { chain: { ...chain, tokens: chain.tokens.map(jtiOf) } };
    },
  });
}

/** The bare server that creates issues. */
export async function bareCreates(lab: Lab, server: BareServer, tessera: Tessera): Promise<Contender> {
  const requests = ask.createRequests(tessera).map((request) => ({ ...request, path: '/issues' }));
  return httpContender(lab, { ...asking(server), requests });
}

function asking({ url, pid }: BareServer) {
  return { name: bare, origins: [url], pids: () => [pid], usesDatabase: true };
}
