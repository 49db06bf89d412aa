import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { LoadRequest } from '../load/load.ts';
import type { OidcReady } from '../peers/peer-messages.ts';
import { startOidcProvider } from '../peers/start-peer.ts';
import type { Contender } from '../run/sample.ts';
import type { ServerProcess } from '../run/server-process.ts';
import { refreshConnections } from './endpoints.ts';
import { httpContender, probe } from './http-contender.ts';

export const oidcNames = {
  memory: 'oidc-provider, in memory',
  postgres: 'oidc-provider on PostgreSQL',
} as const;

type Storage = keyof typeof oidcNames;
type Peer = ServerProcess<OidcReady>;

/** @param grants the number of sessions; one connection at a time can refresh each */
export async function startOidc(lab: Lab, scope: Scope, storage: Storage, grants = 32): Promise<Peer> {
  const peer = await startOidcProvider(
    storage === 'memory'
      ? { storage, grants }
      : { storage, grants, databaseUrl: await lab.emptyDatabase('oidc') },
  );
  scope.defer(() => peer.stop());
  return peer;
}

/** Each measurement starts with unused tokens. */
export function oidcRefresh(lab: Lab, storage: Storage, peer: Peer): Contender {
  const { refreshPath, clientId, clientSecret, refreshTokens } = peer.ready;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const request: LoadRequest = {
    method: 'POST',
    path: refreshPath,
    headers: { Authorization: `Basic ${basic}`, 'Content-Type': 'application/x-www-form-urlencoded' },
    expect: { status: 200, contains: '"access_token":"' },
  };
  return contenderOf(lab, storage, peer, {
    requests: [request],
    connections: refreshConnections,
    prepare: async () => {
      const tokens = refreshTokens.splice(0, refreshConnections);
      if (tokens.length < refreshConnections) throw new Error('oidc-provider has too few grants');
      return { chain: { tokens, before: 'grant_type=refresh_token&refresh_token=', after: '' } };
    },
  });
}

export async function oidcUserInfo(lab: Lab, storage: Storage, peer: Peer): Promise<Contender> {
  const { url, userinfoPath, accessTokens } = peer.ready;
  const requests: LoadRequest[] = accessTokens.map((token) => ({
    method: 'GET',
    path: userinfoPath,
    headers: { Authorization: `Bearer ${token}` },
    expect: { status: 200, contains: '"sub":"' },
  }));
  return contenderOf(lab, storage, peer, { requests: await probe(url, requests) });
}

export async function oidcDocument(
  lab: Lab,
  storage: Storage,
  peer: Peer,
  document: 'jwks' | 'discovery',
): Promise<Contender> {
  const { url, jwksPath, discoveryPath } = peer.ready;
  const request: LoadRequest = {
    method: 'GET',
    path: document === 'jwks' ? jwksPath : discoveryPath,
    expect: { status: 200, contains: document === 'jwks' ? '"kty":"RSA"' : '"jwks_uri":"' },
  };
  return contenderOf(lab, storage, peer, { requests: await probe(url, [request]) });
}

type Asked = Pick<Parameters<typeof httpContender>[1], 'requests' | 'connections' | 'prepare'>;

function contenderOf(lab: Lab, storage: Storage, { ready, pid }: Peer, asked: Asked): Contender {
  return httpContender(lab, {
    name: oidcNames[storage],
    origins: [ready.url],
    pids: () => [pid],
    usesDatabase: storage === 'postgres',
    ...asked,
  });
}
