import { describe, expect, it } from '@jest/globals';
import { GitHubContract } from '../src/github/github-contract.ts';
import type { TrackerRequest, TrackerResponse } from '../src/server/exchange.ts';

const ONE = '/repos/{owner}/{repo}/issues/{issue_number}';

function call(more: Partial<TrackerRequest> = {}): TrackerRequest {
  return {
    method: 'GET',
    path: '/',
    params: { owner: 'o', repo: 'r', issue_number: '1' },
    query: {},
    headers: { 'content-type': 'application/json' },
    body: undefined,
    ...more,
  };
}

function violations(method: 'get' | 'patch', sent: TrackerRequest, answer: TrackerResponse): string[] {
  const contract = new GitHubContract();
  const authenticate = () => undefined;
  contract.route(method, ONE, authenticate, () => answer)[2](sent);
  return contract.violations;
}

const NOT_MODIFIED: TrackerResponse = { status: 304 };
const NOT_FOUND: TrackerResponse = { status: 404, body: { message: 'Not Found' } };

describe('the check against the description', () => {
  it('lists every missing member of a response', () => {
    const found = violations('get', call(), { status: 200, body: {} });

    expect(found).toHaveLength(20);
    expect(found[0]).toContain("must have required property 'assignee'");
  });

  it.each([
    ['a status that the operation does not describe', { status: 204 }],
    ['an error with the wrong shape', { status: 500, body: { message: 1 } }],
    ['a null that the description does not allow', { status: 404, body: { message: null } }],
  ])('records %s', (_, answer) => {
    expect(violations('get', call(), answer)).toHaveLength(1);
  });

  it('accepts a response without content and an error shape', () => {
    expect(violations('get', call(), NOT_MODIFIED)).toEqual([]);
    expect(violations('get', call(), NOT_FOUND)).toEqual([]);
  });

  it('accepts null for nullable members, also with listed values, and nothing outside the list', () => {
    const reasons = (reason: unknown) =>
      violations('patch', call({ body: { state_reason: reason } }), NOT_FOUND);

    expect(reasons(null)).toEqual([]);
    expect(reasons('not_planned')).toEqual([]);
    expect(reasons('wontfix')).toHaveLength(1);
  });

  it.each([
    ['a number that is not numeric', call({ params: { owner: 'o', repo: 'r', issue_number: 'one' } })],
    ['an unknown query parameter', call({ query: { perpage: '2' } })],
    ['a body of another media type', call({ body: {}, headers: { 'content-type': 'text/plain' } })],
    ['a title that is a list', call({ body: { title: [] } })],
  ])('records a request with %s', (_, sent) => {
    expect(violations('patch', sent, NOT_FOUND)).not.toEqual([]);
  });
});
