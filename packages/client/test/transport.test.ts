import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { IdentityClient } from '../src/identity.ts';
import { IssuesClient, type IssuesClientOptions, ProblemError, Session } from '../src/issues.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a server that sends the given responses in turn, and the last response to all further requests. */
async function serve(...answers: Answer[]) {
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, headers, body });
      answers[Math.min(requests.length, answers.length) - 1]?.(request, response, body);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = (options: Partial<IssuesClientOptions> = {}) =>
    new IssuesClient({ baseUrl: url, token: 'token', ...options });
  return { url, requests, client };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));

const problem = (status: number, code: string, headers?: Record<string, string>, more: object = {}) =>
  json(
    status,
    {
      type: `https://issues.example/api/problems/${code}`,
      title: 'a',
      status,
      detail: 'Something.',
      code,
      request_id: 'r1',
      ...more,
    },
    headers,
  );

const cut: Answer = (request) => request.socket.destroy();
const silent: Answer = () => undefined;
const issueBody = { key: 'ISS-1' };
const issue = json(200, issueBody);

describe('a call', () => {
  it('returns the body, with a bearer token', async () => {
    const { client, requests } = await serve(issue);
    expect(await client().get('iss-1')).toEqual({ key: 'ISS-1' });
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: '/api/v1/issues/iss-1/',
      headers: { authorization: 'Bearer token', accept: 'application/json' },
    });
  });

  it('sends the highest position that it has got with what it reads', async () => {
    const at = (digit: string) => json(200, issueBody, { 'X-Data-Position': digit.repeat(24) });
    const { client, requests } = await serve(at('1'), at('3'), at('2'), issue);
    const one = client();
    for (let count = 0; count < 3; count += 1) await one.update('ISS-1', { title: 'New' });
    await one.get('ISS-1');
    await one.update('ISS-1', { title: 'New' });
    await client().get('ISS-1');
    expect(requests.map(({ headers }) => headers['x-data-position'])).toEqual([
      undefined,
      undefined,
      undefined,
      '3'.repeat(24),
      undefined,
      undefined,
    ]);
  });

  it('returns a page with its ETag, and undefined for a 304', async () => {
    const page = { count: 0, next: null, previous: null, results: [] };
    const { client, requests } = await serve(json(200, page, { ETag: 'W/"a"' }), (_request, response) =>
      response.writeHead(304, { ETag: 'W/"a"' }).end(),
    );
    expect(await client().pageIfChanged({ status: ['OPEN'] })).toEqual({ page, etag: 'W/"a"' });
    expect(await client().pageIfChanged({ status: ['OPEN'] }, 'W/"a"')).toBeUndefined();
    expect(requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, 'W/"a"']);
  });

  it('follows an issue by conditional requests, until the caller leaves or aborts', async () => {
    const state = (etag: string, status: string) => json(200, { key: 'ISS-1', status }, { ETag: etag });
    const unchanged: Answer = (_request, response) => response.writeHead(304).end();
    const { client, requests } = await serve(
      ...[state('"1"', 'OPEN'), unchanged, problem(503, 'unavailable'), unchanged],
      ...[state('"2"', 'CLOSED'), state('"3"', 'REOPENED')],
    );
    const seen: string[] = [];
    for await (const { status } of client().follow('ISS-1', { intervalMs: 1 })) {
      seen.push(status);
      if (status === 'CLOSED') break;
    }
    expect(seen).toEqual(['OPEN', 'CLOSED']);
    const conditions = [undefined, '"1"', '"1"', '"1"', '"1"'];
    expect(requests.map(({ headers }) => headers['if-none-match'])).toEqual(conditions);
    const reason = new Error('closed');
    const controller = new AbortController();
    const following = client().follow('ISS-1', { intervalMs: 60_000, signal: controller.signal });
    expect((await following.next()).value).toMatchObject({ status: 'REOPENED' });
    const next = following.next();
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
    expect(requests).toHaveLength(6);
  });

  it('follows the events from a cursor, through an outage, and returns a reset', async () => {
    const page = (next: string, ids: number[], reset = false) =>
      json(200, { events: ids.map((id) => ({ id, type: 'issue.created' })), next, reset });
    const { client, requests } = await serve(
      ...[page('b', [1, 2]), page('c', [3]), page('c', []), problem(503, 'unavailable')],
      ...[page('d', [], true), page('e', [4])],
    );
    const seen: unknown[] = [];
    for await (const { events, next, reset } of client({ attempts: 1 }).events({
      ...{ after: 'a', limit: 2, intervalMs: 1 },
    })) {
      seen.push([events.map(({ id }) => id), next, reset]);
      if (next === 'e') break;
    }
    expect(seen).toEqual([
      [[1, 2], 'b', false],
      [[3], 'c', false],
      [[], 'd', true],
      [[4], 'e', false],
    ]);
    expect(requests.map(({ url }) => new URL(url, 'http://a').searchParams.get('after'))).toEqual([
      'a',
      'b',
      'c',
      'c',
      'c',
      'd',
    ]);
    await expect(client().events({ intervalMs: 0 }).next()).rejects.toThrow(RangeError);
  });

  it('follows an issue through an outage, but not if the first request fails', async () => {
    const unavailable = problem(503, 'unavailable', { 'Retry-After': '0' });
    const state = (etag: string) => json(200, { key: 'ISS-1' }, { ETag: etag });
    const { client, requests } = await serve(state('"1"'), cut, unavailable, state('"2"'), unavailable);
    const follow = () => client({ attempts: 1 }).follow('ISS-1', { intervalMs: 1 });
    const following = follow();
    for (const polls of [1, 4]) {
      expect(await following.next()).toMatchObject({ done: false });
      expect(requests).toHaveLength(polls);
    }
    await expect(follow().next()).rejects.toMatchObject({ code: 'unavailable' });
    for (const intervalMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])
      await expect(client().follow('ISS-1', { intervalMs }).next()).rejects.toThrow(RangeError);
    expect(requests).toHaveLength(5);
  });

  it.each(['', '.', '..'])(
    'sends no request for the id "%s", whose path is that of another operation',
    async (id) => {
      const { client, url, requests } = await serve(json(204, {}));
      const identity = new IdentityClient({ baseUrl: url, serviceToken: 'secret' });
      for (const call of [
        () => identity.get(id),
        () => identity.delete(id),
        () => identity.revokeSession('1', id),
        () => identity.sessions(id).next(),
        () => client().get(id),
        () => client().updateComment('ISS-1', id, 'Text'),
        () => client().deleteLink('ISS-1', id),
        () => client().user(id),
        () => client().label(id),
        () => client().comments(id).next(),
      ])
        await expect(call()).rejects.toThrow(new TypeError('An id must not be empty, "." or "..".'));
      expect(requests).toEqual([]);
    },
  );

  it('throws the error of an argument that cannot be sent, without a request', async () => {
    const { client, requests } = await serve(issue);
    await expect(client().page({ created_after: new Date(Number.NaN) })).rejects.toThrow(RangeError);
    const metadata = { amount: 1n };
    await expect(client().putLink(1, { type: 'invoice', ref: '1', metadata })).rejects.toThrow(TypeError);
    expect(requests).toEqual([]);
  });

  it('ends an iteration at the first item after an abort', async () => {
    const { client } = await serve(json(200, [{ key: 'ISS-1' }, { key: 'ISS-2' }, { key: 'ISS-3' }]));
    for (const abortedAt of [1, 3]) {
      const reason = new Error('closed');
      const controller = new AbortController();
      const seen: string[] = [];
      const read = async () => {
        for await (const { key } of client().list({}, { signal: controller.signal }))
          if (seen.push(key) === abortedAt) controller.abort(reason);
      };
      await expect(read()).rejects.toBe(reason);
      expect(seen).toHaveLength(abortedAt);
    }
  });

  it('throws the error body of a response', async () => {
    const errors = [{ field: 'title', message: 'is required' }];
    const { client } = await serve(problem(422, 'invalid', {}, { errors, issue: { version: 2 } }));
    const error = await client()
      .get(1)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      name: 'ProblemError',
      message: expect.stringMatching(/^422 invalid: Something\. \(/),
      status: 422,
      code: 'invalid',
      type: 'https://issues.example/api/problems/invalid',
      detail: 'Something.',
      requestId: 'r1',
      retryAfterMs: undefined,
      errors,
      body: { issue: { version: 2 } },
    });
  });

  it.each<[string, Answer]>([
    ['a network error', cut],
    ['429', problem(429, 'too_many_requests', { 'Retry-After': '0' })],
    ['502', problem(502, 'bad')],
    ['503', problem(503, 'unavailable')],
    ['504 of a proxy', (_request, response) => response.writeHead(504).end('<html>')],
  ])('repeats a read after %s', async (_what, failure) => {
    const { client, requests } = await serve(failure, issue);
    expect(await client().get(1)).toEqual({ key: 'ISS-1' });
    expect(requests).toHaveLength(2);
  });

  it('repeats a creation with the same idempotency key, and uses a new key for another creation', async () => {
    const { client, requests } = await serve(cut, problem(503, 'unavailable'), issue);
    await client().create({ title: 'a' });
    await client().create({ title: 'a' });
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(2);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys.slice(0, 3)).toEqual(Array(3).fill(keys[0]));
  });

  it('repeats a creation whose first attempt is still processed', async () => {
    const running = problem(409, 'request_in_progress', { 'Retry-After': '0' });
    const { client, requests } = await serve(cut, running, problem(429, 'too_many_requests'), issue);
    expect(await client().create({ title: 'a' })).toEqual({ key: 'ISS-1' });
    expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(requests).toHaveLength(4);
  });

  it('throws for a response without JSON', async () => {
    const { client } = await serve((_request, response) => response.writeHead(200).end('<html>'));
    await expect(client().get(1)).rejects.toMatchObject({ status: 200, code: 'unexpected_response' });
  });

  it.each<[string, Answer, number]>([
    ['a network error', cut, 0],
    ['503', problem(503, 'unavailable'), 503],
  ])('does not repeat an update after %s', async (_what, failure, status) => {
    const { client, requests } = await serve(failure, issue);
    await expect(client().update(1, { title: 'a' })).rejects.toMatchObject({ status });
    expect(requests).toHaveLength(1);
  });

  it('does not repeat a request after a permanent error', async () => {
    const { client, requests } = await serve(problem(404, 'not_found'), issue);
    await expect(client().get(1)).rejects.toMatchObject({ status: 404, code: 'not_found' });
    expect(requests).toHaveLength(1);
  });

  it('ends after its attempts, at its deadline, and before a wait beyond the deadline', async () => {
    const unavailable = await serve(problem(503, 'unavailable', { 'Retry-After': '0' }));
    await expect(unavailable.client({ attempts: 3 }).get(1)).rejects.toMatchObject({ status: 503 });
    expect(unavailable.requests).toHaveLength(3);
    const slow = await serve(silent);
    await expect(slow.client({ deadlineMs: 200 }).get(1)).rejects.toMatchObject({
      status: 0,
      code: 'no_response',
    });
    const later = await serve(problem(429, 'too_many_requests', { 'Retry-After': '60' }));
    await expect(later.client().get(1)).rejects.toMatchObject({ status: 429, retryAfterMs: 60_000 });
    expect(later.requests).toHaveLength(1);
  });

  it("throws the reason of the caller's signal, in a request and in a wait", async () => {
    for (const answer of [silent, problem(503, 'unavailable', { 'Retry-After': '20' })]) {
      const { client, requests } = await serve(answer);
      const controller = new AbortController();
      const got = client().get(1, { signal: controller.signal });
      const caught = got.catch((error: unknown) => error);
      while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const reason = new Error('no longer wanted');
      controller.abort(reason);
      expect(await caught).toBe(reason);
    }
  });

  it('does not send the token to the target of a redirect or of a `Link`', async () => {
    const other = await serve(json(200, []));
    const redirecting = await serve(json(302, {}, { Location: `${other.url}/` }));
    await expect(redirecting.client({ attempts: 1 }).get(1)).rejects.toMatchObject({ code: 'no_response' });
    const link = `<${other.url}/elsewhere/?cursor=a&status=OPEN&status=CLOSED>; rel="next"`;
    const { client, requests } = await serve(
      json(200, [{ number: 2 }], { Link: link }),
      json(200, [{ number: 1 }]),
    );
    const found: number[] = [];
    for await (const { number } of client().list({ status: ['OPEN', 'CLOSED'] })) found.push(number);
    expect(found).toEqual([2, 1]);
    expect(requests.map(({ url }) => url)).toEqual([
      '/api/v1/issues/?status=OPEN&status=CLOSED',
      '/api/v1/issues/?cursor=a&status=OPEN&status=CLOSED',
    ]);
    expect(other.requests).toEqual([]);
  });
});

describe('an ignored member', () => {
  it('is a warning, once for each operation and member', async () => {
    const ignored = json(201, { key: 'ISS-1' }, { 'X-Ignored-Fields': 'colour, size' });
    const { client } = await serve(ignored, ignored, issue);
    const warnings: string[] = [];
    const issues = client({ warn: (message) => warnings.push(message) });
    for (let count = 0; count < 3; count += 1) await issues.create({ title: 'a' });
    expect(warnings).toEqual(
      ['colour', 'size'].map(
        (name) => `createIssue: the service does not know the member "${name}" of the body, and ignored it.`,
      ),
    );
  });
});

describe('the URL of a service', () => {
  it.each([
    ['', 'an absolute URL'],
    ['/api', 'an absolute URL'],
    ['issues.example', 'an absolute URL'],
    [undefined, 'an absolute URL'],
    ['ftp://issues.example', 'http:// or https://, not ftp:'],
    ['localhost:3002', 'http:// or https://, not localhost:'],
    ['https://issues.example?a=b', 'a query or a fragment'],
    ['https://issues.example/#', 'a query or a fragment'],
    ['https://ann:hunter2@issues.example', 'a user name or a password'],
  ])('is a TypeError without a request if it is %j', (text, problem) => {
    const baseUrl = text as string;
    const making = [
      () => new IssuesClient({ baseUrl, token: 'token' }),
      () => new IdentityClient({ baseUrl, serviceToken: 'token' }),
      () => new Session({ identityUrl: baseUrl, tokens: tokenPair }),
    ];
    for (const make of making) {
      expect(make).toThrow(TypeError);
      expect(make).toThrow(problem);
      expect(make).not.toThrow('hunter2');
    }
  });

  it('may have a path and a trailing slash', async () => {
    const { url, requests } = await serve(issue);
    await new IssuesClient({ baseUrl: `${url}/tessera/`, token: 'token' }).get(1);
    expect(requests.map((request) => request.url)).toEqual(['/tessera/api/v1/issues/1/']);
  });
});

describe('the error of a call', () => {
  it('names the request, without its query and the token', async () => {
    const { client, url } = await serve(problem(422, 'invalid'));
    const error = await client({ token: 'hunter2' })
      .list({ search: 'words' })
      .next()
      .catch((caught: unknown) => caught);
    const about = { method: 'GET', url: `${url}/api/v1/issues/` };
    expect(error).toMatchObject({ ...about, message: `422 invalid: Something. (GET ${about.url})` });
    expect(JSON.stringify([error, String(error)])).not.toMatch(/hunter2|words/);
  });

  it('names the address that refuses the connection', async () => {
    const { url, client } = await serve(issue);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const refused = client({ attempts: 1 }).get(1);
    const { host } = new URL(url);
    const message = `no_response: The service did not respond: connect ECONNREFUSED ${host}. (GET ${url}/api/v1/issues/1/)`;
    await expect(refused).rejects.toMatchObject({ status: 0, code: 'no_response', method: 'GET', message });
  });
});

const tokenPair = {
  access_token: 'a',
  refresh_token: 'b',
  token_type: 'Bearer' as const,
  expires_in: 900,
};

describe('a session', () => {
  const tokens = (number: number, expires_in = 900) => ({
    access_token: `access${number}`,
    refresh_token: `refresh${number}`,
    token_type: 'Bearer' as const,
    expires_in,
  });

  it('signs in, refreshes an expiring token once for parallel callers, and signs out', async () => {
    const identity = await serve(json(200, tokens(1, 1)), json(200, tokens(2)), json(200, {}));
    const { client, requests } = await serve(issue);
    const kept: string[] = [];
    const session = await Session.signIn({
      identityUrl: identity.url,
      email: 'ann@example.com',
      password: 'secret',
      onTokens: ({ refresh_token }) => kept.push(refresh_token),
    });
    const issues = client({ token: session });
    await Promise.all([issues.get(1), issues.get(2), issues.get(3)]);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer access2'));
    await session.signOut();
    await expect(issues.get(4)).rejects.toMatchObject({ status: 0, code: 'signed_out' });
    await expect(session.renew('access2')).rejects.toMatchObject({ code: 'signed_out' });
    expect(requests).toHaveLength(3);
    expect(identity.requests.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([
      ['/token', { grant_type: 'password', email: 'ann@example.com', password: 'secret' }],
      ['/token/refresh', { refresh_token: 'refresh1' }],
      ['/token/revoke', { token: 'refresh2' }],
    ]);
    expect(kept).toEqual(['refresh1', 'refresh2']);
    expect(session.tokens).toEqual(tokens(2));
  });

  it('refreshes a token that the service refuses, once', async () => {
    const identity = await serve(json(200, tokens(2)));
    const { client, requests } = await serve(
      problem(401, 'invalid_token'),
      issue,
      problem(401, 'invalid_token'),
    );
    const session = new Session({ identityUrl: identity.url, tokens: tokens(1) });
    await session.accessToken();
    expect(await client({ token: session }).get(1)).toEqual({ key: 'ISS-1' });
    await expect(client({ token: session }).get(1)).rejects.toMatchObject({ status: 401 });
    expect(requests).toHaveLength(4);
    expect(identity.requests).toHaveLength(3);
  });

  it('refreshes once for parallel calls, also if a refusal arrives after the refresh', async () => {
    const identity = await serve(json(200, tokens(1)), json(200, tokens(2)));
    const late: (() => void)[] = [];
    const { client, requests } = await serve((request, response, body) => {
      if (request.headers.authorization === 'Bearer access2') {
        issue(request, response, body);
        for (const refuse of late.splice(0)) refuse();
        return;
      }
      const refuse = () => problem(401, 'invalid_token')(request, response, body);
      if (request.url === '/api/v1/issues/2/') late.push(refuse);
      else refuse();
    });
    const session = new Session({ identityUrl: identity.url, tokens: tokens(0) });
    const issues = client({ token: session });
    await Promise.all([issues.get(1), issues.get(2)]);
    expect(requests).toHaveLength(4);
    expect(identity.requests).toHaveLength(2);
  });

  it('lets a caller stop waiting for a refresh that others wait for', async () => {
    const released: (() => void)[] = [];
    const identity = await serve((request, response, body) =>
      released.push(() => json(200, tokens(2))(request, response, body)),
    );
    const { client, requests } = await serve(issue);
    const session = new Session({ identityUrl: identity.url, tokens: tokens(1) });
    const issues = client({ token: session });
    const controller = new AbortController();
    const stopped = issues.get(1, { signal: controller.signal }).catch((error: unknown) => error);
    const late = client({ token: session, deadlineMs: 100 }).get(1);
    await expect(late).rejects.toMatchObject({ status: 0, code: 'no_response' });
    const others = [issues.get(1), session.accessToken()];
    const reason = new Error('no longer wanted');
    controller.abort(reason);
    expect(await stopped).toBe(reason);
    await expect(session.accessToken(controller.signal)).rejects.toBe(reason);
    for (const release of released) release();
    expect(await Promise.all(others)).toEqual([{ key: 'ISS-1' }, 'access2']);
    expect([identity.requests.length, requests.length]).toEqual([1, 1]);
  });

  it("throws the reason of the caller's signal when it signs in and out", async () => {
    const identity = await serve(silent);
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    const credentials = { identityUrl: identity.url, email: 'ann@example.com', password: 'secret' };
    await expect(Session.signIn(credentials, { signal })).rejects.toBe(signal.reason);
    const session = new Session({ identityUrl: identity.url, tokens: tokens(1) });
    await expect(session.userInfo({ signal })).rejects.toBe(signal.reason);
    await expect(session.signOut({ signal })).rejects.toBe(signal.reason);
    expect(identity.requests).toEqual([]);
  });

  it('replaces a temporary password', async () => {
    const identity = await serve(problem(401, 'password_change_required'), json(200, tokens(1)));
    const options = { identityUrl: identity.url, email: 'ann@example.com', password: 'temporary' };
    await expect(Session.signIn(options)).rejects.toMatchObject({ code: 'password_change_required' });
    expect((await Session.signIn({ ...options, newPassword: 'own' })).tokens).toEqual(tokens(1));
    const body = { grant_type: 'password', email: 'ann@example.com', password: 'temporary' };
    expect(identity.requests.map((request) => JSON.parse(request.body))).toEqual([
      body,
      { ...body, new_password: 'own' },
    ]);
  });

  it('throws the error of the identity service', async () => {
    const identity = await serve(problem(401, 'invalid_grant'));
    const { client, requests } = await serve(issue);
    const options = { identityUrl: identity.url, email: 'ann@example.com', password: 'wrong' };
    await expect(Session.signIn(options)).rejects.toMatchObject({ status: 401, code: 'invalid_grant' });
    const session = new Session({ identityUrl: identity.url, tokens: tokens(1) });
    await expect(client({ token: session }).get(1)).rejects.toMatchObject({ code: 'invalid_grant' });
    expect(requests).toEqual([]);
  });
});
