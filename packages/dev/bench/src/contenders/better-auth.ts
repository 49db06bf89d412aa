import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { LoadRequest } from '../load/load.ts';
import type { BetterAuthReady, PeerOptions } from '../peers/better-auth.server.ts';
import type { Contender } from '../run/sample.ts';
import { type ServerProcess, startServerProcess } from '../run/server-process.ts';
import { loginConnections } from './endpoints.ts';
import { httpContender, probe } from './http-contender.ts';

export const betterAuthNames = {
  bcrypt: 'better-auth, bcrypt',
  scrypt: 'better-auth, scrypt',
  session: 'better-auth get-session',
} as const;

type Peer = ServerProcess<BetterAuthReady>;

export async function startBetterAuthFor(lab: Lab, scope: Scope, hash: 'bcrypt' | 'scrypt'): Promise<Peer> {
  const databaseUrl = await lab.emptyDatabase('better_auth');
  const peer = await startBetterAuth({ hash, databaseUrl, users: 32 });
  scope.defer(() => peer.stop());
  return peer;
}

export function startBetterAuth(options: PeerOptions): Promise<Peer> {
  return startServerProcess(new URL('../peers/better-auth.server.ts', import.meta.url), options);
}

export function signInRequests({ ready: { users, url, signInPath } }: Peer): LoadRequest[] {
  return users.map(({ email, password }) => ({
    method: 'POST',
    path: signInPath,
    headers: { 'Content-Type': 'application/json', Origin: url },
    body: JSON.stringify({ email, password }),
    expect: { status: 200, contains: '"token":"' },
  }));
}

export function sessionRequests({ ready: { users, sessionPath } }: Peer): LoadRequest[] {
  return users.map(({ email, cookie }) => ({
    method: 'GET',
    path: sessionPath,
    headers: { Cookie: cookie },
    expect: { status: 200, contains: `"email":"${email}"` },
  }));
}

export function betterAuthSignIn(lab: Lab, hash: 'bcrypt' | 'scrypt', peer: Peer): Contender {
  return httpContender(lab, {
    name: betterAuthNames[hash],
    origins: [peer.ready.url],
    requests: signInRequests(peer),
    connections: loginConnections,
    pids: () => [peer.pid],
    usesDatabase: true,
  });
}

export async function betterAuthSession(lab: Lab, peer: Peer): Promise<Contender> {
  const requests = await probe(peer.ready.url, sessionRequests(peer));
  return httpContender(lab, {
    name: betterAuthNames.session,
    origins: [peer.ready.url],
    requests,
    pids: () => [peer.pid],
    usesDatabase: true,
  });
}
