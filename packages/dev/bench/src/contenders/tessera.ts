import { availableParallelism } from 'node:os';
import type { Lab } from '../lab/lab.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { Contender } from '../run/sample.ts';
import { httpContender } from './http-contender.ts';
import { probed } from './probe.ts';
import * as ask from './tessera-requests.ts';

/** What we are called in a row. */
export const ours = 'Tessera';
/** Connections that log in: with fewer a core idles while too many of them are between two hashes. */
export const loginConnections = availableParallelism() * 4;
/** Connections that refresh. */
export const refreshConnections = 16;

/** The paths that touch the database, and what measures each. */
export const paths = {
  token: tokenContender,
  refresh: refreshContender,
  userinfo: userInfoContender,
  'get-issue': getContender,
  'list-issues': listContender,
  'create-issue': createContender,
};

export type PathName = keyof typeof paths;

/** Which processes are asked, and what the contender is called. */
export interface Variant {
  name?: string;
  /** Both replicas instead of one. */
  both?: boolean;
}

export async function tokenContender(lab: Lab, tessera: Tessera, variant: Variant = {}): Promise<Contender> {
  return httpContender(lab, {
    ...identity(tessera, variant),
    requests: ask.loginRequests(tessera),
    connections: loginConnections,
  });
}

export async function refreshContender(
  lab: Lab,
  tessera: Tessera,
  variant: Variant = {},
): Promise<Contender> {
  return httpContender(lab, {
    ...identity(tessera, variant),
    requests: [ask.refreshRequest],
    connections: refreshConnections,
    prepare: () => ask.refreshChain(tessera, refreshConnections),
  });
}

export async function userInfoContender(
  lab: Lab,
  tessera: Tessera,
  variant: Variant = {},
): Promise<Contender> {
  const requests = await probed(tessera.identity.url, ask.userInfoRequests(tessera), () => undefined);
  return httpContender(lab, { ...identity(tessera, variant), requests });
}

export async function getContender(lab: Lab, tessera: Tessera, variant: Variant = {}): Promise<Contender> {
  const requests = await probed(tessera.issues.url, ask.getRequests(tessera), (document) => {
    const { comments, links, assignee } = Object(document);
    if (comments.length !== 3 || links.length !== 2 || typeof assignee?.username !== 'string') {
      throw new Error('an issue without its comments, links and assignee');
    }
  });
  return httpContender(lab, { ...issues(tessera, variant), requests });
}

export async function listContender(lab: Lab, tessera: Tessera, variant: Variant = {}): Promise<Contender> {
  const requests = await probed(tessera.issues.url, ask.listRequests(tessera), (document) => {
    if (!Array.isArray(document) || document.length !== 50)
      throw new Error('a list that is not of 50 issues');
  });
  return httpContender(lab, { ...issues(tessera, variant), requests });
}

export async function createContender(lab: Lab, tessera: Tessera, variant: Variant = {}): Promise<Contender> {
  return httpContender(lab, { ...issues(tessera, variant), requests: ask.createRequests(tessera) });
}

function identity({ identity: first, secondIdentity: second }: Tessera, { name = ours, both }: Variant) {
  return of(both ? [first, second] : [first], name);
}

function issues({ issues: first, secondIssues: second }: Tessera, { name = ours, both }: Variant) {
  return of(both ? [first, second] : [first], name);
}

function of(services: Tessera['issues'][], name: string) {
  return {
    name,
    origins: services.map(({ url }) => url),
    pids: () => services.map(({ pid }) => pid),
    usesDatabase: true,
  };
}
