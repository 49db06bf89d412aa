import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { LoadRequest } from '../load/load.ts';
import type { OidcOptions, OidcReady } from '../peers/oidc-provider.server.ts';
import type { Contender } from '../run/sample.ts';
import { type ServerProcess, startServerProcess } from '../run/server-process.ts';
import { refreshConnections } from './endpoints.ts';
import { type HttpContenderOptions, httpContender, probe } from './http-contender.ts';

export const oidcNames = {
  memory: 'oidc-provider, in memory',
  postgres: 'oidc-provider on PostgreSQL',
  /** Its access tokens are JWTs, so that a refresh signs two tokens, as in Tessera. */
  signing: 'oidc-provider on PostgreSQL, two signatures',
} as const;

interface OidcPeer extends ServerProcess<OidcReady> {
  variant: keyof typeof oidcNames;
}

/** @param grants the number of sessions; one connection at a time can refresh each */
export async function startOidc(
  lab: Lab,
  scope: Scope,
  { variant, grants = 32 }: { variant: keyof typeof oidcNames; grants?: number },
): Promise<OidcPeer> {
  const accessTokens = variant === 'signing' ? 'jwt' : 'opaque';
  const database = variant === 'memory' ? {} : { databaseUrl: await lab.emptyDatabase('oidc') };
  const peer = await startOidcProvider({ ...database, grants, accessTokens });
  scope.defer(() => peer.stop());
  return { ...peer, variant };
}

export function startOidcProvider(options: OidcOptions): Promise<ServerProcess<OidcReady>> {
  return startServerProcess(new URL('../peers/oidc-provider.server.ts', import.meta.url), options);
}

/** Each measurement starts with unused tokens. */
export function oidcRefresh(lab: Lab, peer: OidcPeer): Contender {
  const { refreshPath, clientId, clientSecret, refreshTokens } = peer.ready;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const request: LoadRequest = {
    method: 'POST',
    path: refreshPath,
    headers: { Authorization: `Basic ${basic}`, 'Content-Type': 'application/x-www-form-urlencoded' },
    expect: { status: 200, contains: '"access_token":"' },
  };
  return contenderOf(lab, peer, {
    requests: [request],
    connections: refreshConnections,
    prepare: async () => {
      const tokens = refreshTokens.splice(0, refreshConnections);
      if (tokens.length < refreshConnections) throw new Error('oidc-provider has too few grants');
      return { chain: { tokens, before: 'grant_type=refresh_token&refresh_token=', after: '' } };
    },
  });
}

export async function oidcUserInfo(lab: Lab, peer: OidcPeer): Promise<Contender> {
  const { url, userinfoPath, accessTokens } = peer.ready;
  const requests: LoadRequest[] = accessTokens.map((token) => ({
    method: 'GET',
    path: userinfoPath,
    headers: { Authorization: `Bearer ${token}` },
    expect: { status: 200, contains: '"sub":"' },
  }));
  return contenderOf(lab, peer, { requests: await probe(url, requests) });
}

export async function oidcDocument(
  lab: Lab,
  peer: OidcPeer,
  document: 'jwks' | 'discovery',
): Promise<Contender> {
  const { url, jwksPath, discoveryPath } = peer.ready;
  const request: LoadRequest = {
    method: 'GET',
    path: document === 'jwks' ? jwksPath : discoveryPath,
    expect: { status: 200, contains: document === 'jwks' ? '"kty":"RSA"' : '"jwks_uri":"' },
  };
  return contenderOf(lab, peer, { requests: await probe(url, [request]) });
}

type PeerLoad = Pick<HttpContenderOptions, 'requests' | 'connections' | 'prepare'>;

function contenderOf(lab: Lab, { ready, pid, variant }: OidcPeer, load: PeerLoad): Contender {
  return httpContender(lab, {
    name: oidcNames[variant],
    origins: [ready.url],
    pids: () => [pid],
    usesDatabase: variant !== 'memory',
    ...load,
  });
}
