import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Attack, type AttackContext, attacks, validToken } from '@tessera/jwt-verify/attack-table';
import { first, type Stack, startStack } from '@tessera/stack';
import axios, { type AxiosResponse } from 'axios';

const credentials = { grant_type: 'password', email: 'ann@example.com', password: 'a password of the test' };
const issuesTolerance = 5;

interface Target {
  method: string;
  path: string;
  body?: string;
  /** The status for a valid token. */
  valid: number;
  contentType?: string;
}

// All paths of a service, including those that return an error. All paths below /api/v1 check the token first.
const issuesTargets: Target[] = [
  { method: 'GET', path: '/api/v1/issues/', valid: 200 },
  { method: 'POST', path: '/api/v1/issues/', body: '{"title":"Broken"}', valid: 201 },
  { method: 'GET', path: '/api/v1/issues/1/', valid: 200 },
  { method: 'PATCH', path: '/api/v1/issues/1/', body: '{"title":"Forged"}', valid: 200 },
  { method: 'POST', path: '/api/v1/issues/1/status/', body: '{"status":"OPEN"}', valid: 200 },
  { method: 'POST', path: '/api/v1/issues/1/comments/', body: '{"body":"Forged"}', valid: 201 },
  { method: 'GET', path: '/api/v1/users/me/', valid: 200 },
  { method: 'GET', path: '/api/v1/nothing/', valid: 404 },
  { method: 'DELETE', path: '/api/v1/issues/1/', valid: 405 },
  { method: 'POST', path: '/api/v1/issues/', body: '{"title":', valid: 400 },
  { method: 'POST', path: '/api/v1/issues/', body: 'title', contentType: 'text/plain', valid: 415 },
  { method: 'GET', path: '/api/v1/issues/?no_such_filter=1', valid: 422 },
];

// Only /userinfo uses an access token; the other paths ignore it.
const identityTargets: Target[] = [
  { method: 'GET', path: '/userinfo', valid: 200 },
  { method: 'POST', path: '/userinfo', valid: 200 },
  { method: 'GET', path: '/nothing', valid: 404 },
  { method: 'DELETE', path: '/userinfo', valid: 405 },
  { method: 'GET', path: '/token', valid: 405 },
  { method: 'POST', path: '/token', body: '{"grant_type":', valid: 400 },
  { method: 'POST', path: '/token/refresh', body: '[]', valid: 422 },
  { method: 'GET', path: '/internal/identities/1', valid: 403 },
];

describe('a forged or tampered access token', () => {
  let stack: Stack;
  let listener: Server;
  let connections = 0;
  let accessToken: string;
  let atIssues: Table;
  let atIdentity: Table;

  beforeAll(async () => {
    stack = await startStack();
    const { email, password } = credentials;
    await stack.internal.post('/internal/identities', { email, password });
    const { data } = await axios.post(`${first(stack.identities).url}/token`, credentials, { proxy: false });
    accessToken = data.access_token;
    listener = createServer((_request, response) => {
      connections += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const created = await send(first(stack.issues).url, issuesTargets[1], accessToken);
    expect(created.status).toBe(201);
    atIssues = tableOf(contextWith(issuesTolerance));
    atIdentity = tableOf(contextWith(0));
  });
  afterAll(async () => {
    listener.close();
    expect(await stack.stop()).toEqual([0, 0]);
  });

  function contextWith(clockToleranceSeconds: number): AttackContext {
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
    return {
      kind: 'access',
      privateKey: createPrivateKey(readFileSync(join(stack.keys.directory, 'identity-key-1.pem'))),
      kid: 'identity-key-1',
      typ: 'at+jwt',
      claims,
      clockToleranceSeconds,
      listenerUrl: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys`,
    };
  }

  it.each(issuesTargets)('gets 401 at issues, $method $path ($valid when valid)', async (target) => {
    const { url } = first(stack.issues);
    for (const { name, token } of atIssues.attacks) {
      const refused = await send(url, target, token);
      expect([name, refused.status, refused.data.code]).toEqual([name, 401, 'invalid_token']);
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    expect((await send(url, target, atIssues.valid)).status).toBe(target.valid);
  });

  it('changes nothing', async () => {
    const comments = await stack.sql('issues', 'SELECT count(*)::int AS n FROM comments');
    // The comment of the valid token.
    expect(comments.rows).toEqual([{ n: 1 }]);
    // The first issue of this suite, and the issue of the valid token.
    const issues = await stack.sql('issues', 'SELECT count(*)::int AS n FROM issues');
    expect(issues.rows).toEqual([{ n: 2 }]);
  });

  it.each(identityTargets)(
    'is not accepted at identity, $method $path ($valid when valid)',
    async (target) => {
      const { url } = first(stack.identities);
      // A path that needs a token answers 401 for any method.
      const expected = target.path === '/userinfo' ? 401 : target.valid;
      for (const { name, token } of atIdentity.attacks) {
        const refused = await send(url, target, token);
        expect([name, refused.status]).toEqual([name, expected]);
        expect(refused.data).toMatchObject({ status: expected, code: expect.any(String) });
      }
      expect((await send(url, target, atIdentity.valid)).status).toBe(target.valid);
    },
  );

  it('never causes a server error with an invalid Authorization header', async () => {
    for (const [url, path] of [
      [first(stack.issues).url, '/api/v1/issues/'],
      [first(stack.identities).url, '/userinfo'],
    ] as const) {
      for (const header of ['Bearer', 'Bearer ', 'Bearer a b', 'Basic YTpi', 'bearer\tx', 'Bearer ü', '=']) {
        const { status } = await ask(url, { method: 'GET', path, valid: 200 }, { Authorization: header });
        expect([header, [400, 401].includes(status)]).toEqual([header, true]);
      }
      const huge = await ask(
        url,
        { method: 'GET', path, valid: 200 },
        { Authorization: `Bearer ${'a'.repeat(15_000)}` },
      );
      expect(huge.status).toBe(401);
    }
  });

  it('never makes a service fetch a key from a URL in a token', () => {
    expect(connections).toBe(0);
  });
});

/** The attacks of all targets of a service, which take a new key and a hundred signatures. */
interface Table {
  valid: string;
  attacks: Attack[];
}

// A bearer token in a header cannot contain line breaks or spaces; these are rejected as malformed with 400.
function tableOf(context: AttackContext): Table {
  const table = attacks(context).filter(
    ({ token }) => /^[A-Za-z0-9\-._~+/]+=*$/.test(token) && token.length < 15_000,
  );
  expect(table.length).toBeGreaterThan(80);
  return { valid: validToken(context), attacks: table };
}

function send(url: string, target: Target | undefined, token: string): Promise<AxiosResponse> {
  if (target === undefined) throw new Error('no target');
  return ask(url, target, { Authorization: `Bearer ${token}` });
}

function ask(url: string, target: Target, headers: Record<string, string>): Promise<AxiosResponse> {
  const { method, path, body, contentType = 'application/json' } = target;
  return axios.request({
    url: `${url}${path}`,
    method,
    ...(body === undefined ? {} : { data: body }),
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': contentType }) },
    // axios must not serialize the body.
    transformRequest: [(data: unknown) => data],
    validateStatus: () => true,
    proxy: false,
  });
}
