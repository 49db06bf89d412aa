import { availableParallelism } from 'node:os';
import { password, unboundFiles } from '../lab/fill.ts';
import { logIn, type Person, type Tessera } from '../lab/tessera.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { Contender } from '../run/sample.ts';

/** An endpoint of the services, and the load that measures it. */
export interface Endpoint {
  service: 'identity' | 'issues';
  requests: (tessera: Tessera) => LoadRequest[] | Promise<LoadRequest[]>;
  /** Default: {@link readConnections}. */
  connections?: number;
  /** Whether to measure what PostgreSQL uses; default: yes. */
  usesDatabase?: false;
  /**
   * Called once with each document before the load; throws when it is not as expected. Every response under load must then
   * be as long as the document that was checked. Absent for endpoints whose responses vary.
   */
  check?: (document: unknown) => void;
  /** Returns additional members of the load for each measurement, such as unused tokens. */
  prepare?: (tessera: Tessera) => Promise<Partial<Load>>;
  /** Adds a check to the measurements. */
  verify?: (contender: Contender, tessera: Tessera) => Contender;
}

/**
 * Number of connections for logins. With fewer connections, a core would be idle while several logins are between two
 * hashes.
 */
export const loginConnections = availableParallelism() * 4;
export const refreshConnections = 16;

export const issuesPath = '/api/v1/issues/';
const json = { 'Content-Type': 'application/json' };

export const endpoints = {
  token: { service: 'identity', requests: loginRequests, connections: loginConnections },
  refresh: {
    service: 'identity',
    requests: () => [refreshRequest],
    connections: refreshConnections,
    prepare: async (tessera) => ({
      chain: { tokens: await refreshTokens(tessera), before: '{"refresh_token":"', after: '"}' },
    }),
  },
  userinfo: { service: 'identity', requests: userInfoRequests, check: () => undefined },
  jwks: {
    service: 'identity',
    requests: () => [documentRequest('/jwks', '"kty":"RSA"')],
    usesDatabase: false,
    check: () => undefined,
  },
  discovery: {
    service: 'identity',
    requests: () => [documentRequest('/.well-known/openid-configuration', '"jwks_uri":"')],
    usesDatabase: false,
    check: () => undefined,
  },
  'get-issue': { service: 'issues', requests: getRequests, check: checkAssignedIssue },
  'list-issues': { service: 'issues', requests: listRequests, check: checkList },
  'search-issues': { service: 'issues', requests: searchRequests, check: checkList },
  'create-issue': { service: 'issues', requests: createRequests },
  'create-with-file': { service: 'issues', requests: createRequests, prepare: createsWithFiles },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

export function loginRequests({ people }: Tessera): LoadRequest[] {
  return people.map(({ email }) => ({
    method: 'POST',
    path: '/token',
    headers: json,
    body: JSON.stringify({ grant_type: 'password', email, password }),
    expect: { status: 200, contains: '"refresh_token":"' },
  }));
}

export const refreshRequest: LoadRequest = {
  method: 'POST',
  path: '/token/refresh',
  headers: json,
  expect: { status: 200, contains: '"access_token":"' },
};

/** Returns a refresh token of a new session for each connection. */
export async function refreshTokens(tessera: Tessera): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < refreshConnections) {
    const { email } = personOf(tessera, tokens.length);
    tokens.push((await logIn(tessera.identity.url, email)).refresh_token);
  }
  return tokens;
}

export function userInfoRequests({ people }: Tessera): LoadRequest[] {
  return people.map((person) => ({
    method: 'GET',
    path: '/userinfo',
    headers: bearer(person),
    expect: { status: 200, contains: `"sub":"${person.id}"` },
  }));
}

function documentRequest(path: string, contains: string): LoadRequest {
  return { method: 'GET', path, expect: { status: 200, contains } };
}

export function getRequests(tessera: Tessera): LoadRequest[] {
  return tessera.issueIds.map((id, index) => getRequest(tessera, id, index));
}

export function getRequest(tessera: Tessera, id: string, index: number): LoadRequest {
  return {
    method: 'GET',
    path: `${issuesPath}${id}/`,
    headers: bearer(personOf(tessera, index)),
    expect: { status: 200, contains: `"id":"${id}"` },
  };
}

/** @throws Error unless it is an issue with comments and links */
export function checkIssue(document: unknown): void {
  const { comments, links } = Object(document);
  if (comments.length !== 3 || links.length !== 2)
    throw new Error('an issue lacks its comments or its links');
}

function checkAssignedIssue(document: unknown): void {
  checkIssue(document);
  const { assignee } = Object(document);
  if (typeof assignee?.username !== 'string') throw new Error('an issue lacks its assignee');
}

/** The newest issues, requested by each person in turn. */
export function listRequests(tessera: Tessera): LoadRequest[] {
  return tessera.people.map((_person, index) => listRequest(tessera, index));
}

/** Searches for a word that one issue in eight has. */
function searchRequests(tessera: Tessera): LoadRequest[] {
  return listRequests(tessera).map((request) => ({
    ...request,
    path: `${request.path}${request.path.includes('?') ? '&' : '?'}search=common`,
  }));
}

export function listRequest(tessera: Tessera, index: number, path = `${issuesPath}?limit=50`): LoadRequest {
  return {
    method: 'GET',
    path,
    headers: bearer(personOf(tessera, index)),
    expect: { status: 200, contains: '"allowed_transitions":' },
  };
}

/** @throws Error unless it is a whole page */
export function checkList(document: unknown): void {
  if (!Array.isArray(document) || document.length !== 50) throw new Error('a list does not have 50 issues');
}

const newIssue = {
  title: 'Created by the bench',
  description: 'What happened, and what should have happened.',
  priority: 'URGENT',
};

export function createRequests({ people }: Tessera): LoadRequest[] {
  return people.map((person) => ({
    method: 'POST',
    path: issuesPath,
    headers: { ...bearer(person), ...json },
    body: JSON.stringify(newIssue),
    expect: { status: 201, contains: `"title":"${newIssue.title}"` },
  }));
}

/** A file belongs to one issue, so each measurement creates this number of issues, with as many new files. */
const filesCount = 5_000;

/** The issues of a measurement, each with the file that its description shows. */
export async function createsWithFiles(tessera: Tessera): Promise<Partial<Load>> {
  const { people, stack } = tessera;
  const creates = createRequests(tessera);
  const ids = await unboundFiles(
    stack,
    people.map(({ id }) => id),
    filesCount,
  );
  const requests = ids.flatMap((id, index) => {
    const create = creates[index % creates.length];
    if (create === undefined) return [];
    const body = JSON.stringify({ ...newIssue, description: `![shot.png](attachment:${id})` });
    return { ...create, body, expect: { status: 201, contains: '"attachments_count":1' } };
  });
  return { requests, firstRequest: 0, total: requests.length, warmUpSeconds: 0 };
}

function bearer({ accessToken }: Person) {
  return { Authorization: `Bearer ${accessToken}` };
}

function personOf({ people }: Tessera, index: number): Person {
  const person = people[index % people.length];
  if (person === undefined) throw new Error('there are no people');
  return person;
}
