import { password } from '../lab/fill.ts';
import { logIn, type Person, type Tessera } from '../lab/tessera.ts';
import type { Chain, LoadRequest } from '../load/load.ts';

const issuesPath = '/api/v1/issues/';

function bearer({ accessToken }: Person) {
  return { Authorization: `Bearer ${accessToken}` };
}

/** One request after the other in another person's name. */
function personOf({ people }: Tessera, index: number): Person {
  const person = people[index % people.length];
  if (person === undefined) throw new Error('nobody is signed in');
  return person;
}

export function loginRequests({ people }: Tessera): LoadRequest[] {
  return people.map(({ email }) => ({
    method: 'POST',
    path: '/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ grant_type: 'password', email, password }),
    expect: { status: 200, contains: '"refresh_token":"' },
  }));
}

export function userInfoRequests({ people }: Tessera): LoadRequest[] {
  return people.map((person) => ({
    method: 'GET',
    path: '/userinfo',
    headers: bearer(person),
    expect: { status: 200, contains: `"sub":"${person.id}"` },
  }));
}

export function documentRequest(path: string): LoadRequest {
  const contains = path === '/jwks' ? '"kty":"RSA"' : '"jwks_uri":"';
  return { method: 'GET', path, expect: { status: 200, contains } };
}

export function getRequests(tessera: Tessera): LoadRequest[] {
  return tessera.issueIds.map((id, index) => ({
    method: 'GET',
    path: `${issuesPath}${id}/`,
    headers: bearer(personOf(tessera, index)),
    expect: { status: 200, contains: `"id":"${id}"` },
  }));
}

/** The newest ones, by everybody. */
export function listRequests(tessera: Tessera, limit = 50): LoadRequest[] {
  return tessera.people.map((person) => ({
    method: 'GET',
    path: `${issuesPath}?limit=${limit}`,
    headers: bearer(person),
    expect: { status: 200, contains: '"allowed_transitions":' },
  }));
}

export const newIssue = {
  title: 'Created by the bench',
  description: 'What happened, and what should have happened.',
  priority: 'URGENT',
};

export function createRequests(tessera: Tessera): LoadRequest[] {
  return tessera.people.map((person) => ({
    method: 'POST',
    path: issuesPath,
    headers: { ...bearer(person), 'Content-Type': 'application/json' },
    body: JSON.stringify(newIssue),
    expect: { status: 201, contains: `"title":"${newIssue.title}"` },
  }));
}

export const refreshRequest: LoadRequest = {
  method: 'POST',
  path: '/token/refresh',
  headers: { 'Content-Type': 'application/json' },
  expect: { status: 200, contains: '"access_token":"' },
};

/** A session of its own for each connection. */
export async function refreshChain(
  { identity, people }: Tessera,
  connections: number,
): Promise<{ chain: Chain }> {
  const tokens: string[] = [];
  for (let index = 0; index < connections; index += 1) {
    const { email } = people[index % people.length] ?? { email: '' };
    tokens.push((await logIn(identity.url, email)).refreshToken);
  }
  return { chain: { tokens, before: '{"refresh_token":"', after: '"}' } };
}
