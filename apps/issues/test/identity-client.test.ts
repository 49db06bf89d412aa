import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, ProblemError } from '@tessera/service-kit';
import { IdentityClient } from '../src/identity-mirror/identity-client.ts';
import { FakeIdentity, inTurn, json, wireIdentity } from './support/fake-identity.ts';
import './support/response-guard.ts';
import { recordEmission, recordingLog, rememberSecret } from '@tessera/testing/leaks';

const serviceToken = rememberSecret('a-service-token-of-the-client-tests-0123');
const password = rememberSecret('a password of the client tests');
/** For responses that never end. Any other response may take longer on a slow machine. */
const hurried = { timeoutMs: 300 };
const breakMs = 400;

let stub: FakeIdentity;
let client: IdentityClient;
let log: string[];
beforeEach(async () => {
  stub = await FakeIdentity.start();
  client = clientOf(stub.url);
});
afterEach(() => stub.stop());

function clientOf(url: string, options: { timeoutMs?: number } = {}): IdentityClient {
  const destination = recordingLog();
  log = destination.lines;
  const logger = createLogger({ service: 'issues', level: 'debug', destination });
  return new IdentityClient({ url, serviceToken, timeoutMs: 60_000, breakMs, logger, ...options });
}

/** Returns the status and code of the problem that a call throws, and records its log line for the leak scan. */
async function problemOf(call: Promise<unknown>): Promise<[status: number, code: string]> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProblemError)) throw new Error('not refused with a problem', { cause: error });
  createLogger({ service: 'issues', level: 'debug', destination: recordingLog() }).error(
    { err: error },
    'failed',
  );
  recordEmission('problem', JSON.stringify(error));
  return [error.status, error.code];
}

const someId = () => randomUUID();
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const silent: RequestListener = () => undefined;
const reset: RequestListener = (request) => request.socket.resetAndDestroy();
const cutOff: RequestListener = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' }).write('{"id":');
  response.destroy();
};
const drip: RequestListener = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 50);
  response.once('close', () => clearInterval(timer));
};

describe('a look-up', () => {
  it('finds by id, e-mail and SSO pair, with the service token and the request id', async () => {
    const ann = wireIdentity();
    stub.answer = json(200, ann);
    const email = 'ann+x/y%z@example.com';
    for (const lookup of [
      await client.findById(ann.id, 'request-17'),
      await client.findByEmail(email, 'request-17'),
      await client.findBySso('a b&c', '../?#é', 'request-17'),
    ]) {
      expect(lookup.identity).toEqual(ann);
      expect(lookup.answeredAt.getTime()).toBeGreaterThanOrEqual(lookup.askedAt.getTime());
    }
    expect(stub.seen.map(({ url }) => url)).toEqual([
      `/internal/identities/${ann.id}`,
      `/internal/identities/by-email/${encodeURIComponent(email)}`,
      `/internal/identities/by-sso/lookup?provider=a%20b%26c&sso_id=..%2F%3F%23%C3%A9`,
    ]);
    for (const request of stub.seen) expect(request).toMatchObject({ serviceToken, requestId: 'request-17' });
  });

  it('asks for the one spelling of an e-mail, which the services share', async () => {
    stub.answer = json(200, wireIdentity());
    await client.findByEmail(' Ann@xn--bcher-kva.example. ');
    const email = encodeURIComponent('Ann@bücher.example');
    expect(stub.seen.map(({ url }) => url)).toEqual([`/internal/identities/by-email/${email}`]);
  });

  it.each(['..', '.', 'nobody', '\ud800@example.com', ''])(
    'sends no request for the invalid e-mail %j',
    async (email) => {
      expect((await client.findByEmail(email)).identity).toBeUndefined();
      expect(stub.seen).toEqual([]);
    },
  );

  it('treats only a 404 in identity’s own format as an unknown identity', async () => {
    stub.answer = json(404, { code: 'identity_not_found', detail: 'There is no such identity.' });
    expect((await client.findById(someId())).identity).toBeUndefined();
    stub.answer = json(404, { detail: 'Not found.' });
    expect((await client.findById(someId())).identity).toBeUndefined();
    // A misconfigured URL must not mark every person as missing.
    const page: RequestListener = (_request, response) =>
      response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>404</h1>');
    const noRoute = json(404, { code: 'not_found', detail: 'There is nothing at this path.' });
    for (const answer of [page, noRoute, json(404, 'default backend - 404')]) {
      stub.answer = answer;
      expect(await problemOf(client.findById(someId()))).toEqual([502, 'identity_answer_invalid']);
    }
  });

  it.each<[string, RequestListener]>([
    ['a body that is not JSON', (_request, response) => response.writeHead(200).end('<html>')],
    ['an object of another shape', json(200, { id: 7 })],
    ['an identity with a missing field', json(200, { ...wireIdentity(), is_staff: undefined })],
    ['an array', json(200, [wireIdentity()])],
    ['an empty response', (_request, response) => response.writeHead(204).end()],
    ['a response that is too large', json(200, { ...wireIdentity(), padding: 'x'.repeat(300_000) })],
    ['a redirect', (_request, response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
    ['418', json(418, {})],
  ])('returns 502 for %s', async (_name, answer) => {
    stub.answer = answer;
    expect(await problemOf(client.findById(someId()))).toEqual([502, 'identity_answer_invalid']);
    expect(stub.seen).toHaveLength(1);
    expect(client.status()).toEqual({ breaker: 'closed' });
  });

  it('follows no redirect, so that the service token is never sent to another origin', async () => {
    const heard: unknown[] = [];
    const elsewhere = createServer((request, response) => {
      heard.push(request.headers);
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    for (const status of [301, 302, 303, 307, 308]) {
      stub.answer = json(status, {}, { Location: location });
      expect(await problemOf(client.findById(someId()))).toEqual([502, 'identity_answer_invalid']);
      const create = client.create({ email: 'ann@example.com', password });
      expect(await problemOf(create)).toEqual([502, 'identity_answer_invalid']);
    }
    expect(heard).toEqual([]);
    await new Promise((resolve) => elsewhere.close(resolve));
  });

  it.each<[name: string, requests: number, RequestListener, options: { timeoutMs?: number }]>([
    ['502', 3, json(502, {}), {}],
    ['503', 3, json(503, {}), {}],
    ['504', 3, json(504, {}), {}],
    ['a reset connection', 3, reset, {}],
    ['a truncated response', 3, cutOff, {}],
    ['500', 1, json(500, {}), {}],
    ['429', 1, json(429, {}), {}],
    ['no response', 1, silent, hurried],
    ['a response that arrives too slowly', 1, drip, hurried],
  ])('returns 503 for %s after %d requests', async (_name, requests, answer, options) => {
    stub.answer = answer;
    client = clientOf(stub.url, options);
    expect(await problemOf(client.findById(someId()))).toEqual([503, 'identity_unavailable']);
    expect(stub.seen).toHaveLength(requests);
  });

  it('returns 503 when the connection is refused', async () => {
    client = clientOf('http://127.0.0.1:1');
    expect(await problemOf(client.findById(someId()))).toEqual([503, 'identity_unavailable']);
  });

  it('succeeds after a short failure', async () => {
    stub.answer = inTurn(reset, json(503, {}), json(200, wireIdentity()));
    expect((await client.findById(someId())).identity?.username).toBe('ann');
  });

  it('returns the Retry-After of identity within bounds', async () => {
    for (const [given, expected] of [
      ['17', '17'],
      ['100000', '60'],
      ['soon', '5'],
    ] as const) {
      stub.answer = json(503, {}, { 'Retry-After': given });
      await expect(clientOf(stub.url).findById(someId())).rejects.toMatchObject({
        headers: { 'Retry-After': expected },
      });
    }
  });

  it('sends one request for fifty concurrent callers and returns its times to all', async () => {
    stub.answer = (request, response) => setTimeout(() => json(200, wireIdentity())(request, response), 100);
    const id = someId();
    const first = client.findById(id);
    await pause(50);
    const lookups = await Promise.all([first, ...Array.from({ length: 49 }, () => client.findById(id))]);
    expect(stub.seen).toHaveLength(1);
    // Later callers see when the request was sent.
    expect(new Set(lookups.map(({ askedAt }) => askedAt.getTime())).size).toBe(1);
    await client.findById(id);
    expect(stub.seen).toHaveLength(2);
  });

  it('sends at most eight requests at a time and rejects calls that would wait too long', async () => {
    stub.answer = (request, response) => setTimeout(() => json(200, wireIdentity())(request, response), 20);
    const lookups = await Promise.allSettled(Array.from({ length: 300 }, () => client.findById(someId())));
    expect(stub.peak).toBe(8);
    const refused = lookups.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(300 - 8 - 256);
    expect(client.status()).toEqual({ breaker: 'closed' });
  });

  it('sends lookups while many people change their passwords', async () => {
    const release: (() => void)[] = [];
    stub.answer = (request, response) => {
      if (request.method === 'GET') json(200, wireIdentity())(request, response);
      else release.push(() => json(204, undefined)(request, response));
    };
    const change = { current_password: 'a', new_password: 'b' };
    const changes = Array.from({ length: 40 }, () => client.changePassword(someId(), change));
    const outcomes = Promise.allSettled(changes);
    await client.findById(someId());
    expect(stub.peak).toBe(5);
    stub.answer = json(204, undefined);
    for (const respond of release) respond();
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(40 - 4 - 16);
  });
});

describe('the circuit breaker', () => {
  it('opens after failures, sends one trial request, and closes when identity is back', async () => {
    stub.answer = json(500, {});
    for (let count = 0; count < 5; count += 1) await problemOf(client.findById(someId()));
    expect(client.status()).toEqual({ breaker: 'open' });
    expect(log.join('')).toContain('"state":"Open"');
    stub.seen.length = 0;
    expect(await problemOf(client.findById(someId()))).toEqual([503, 'identity_unavailable']);
    expect(await problemOf(client.create({ email: 'a@example.com' }))).toEqual([503, 'identity_unavailable']);
    expect(stub.seen).toEqual([]);

    await pause(breakMs + 50);
    await problemOf(client.findById(someId()));
    expect(stub.seen).toHaveLength(1);
    expect(client.status()).toEqual({ breaker: 'open' });

    stub.answer = json(200, wireIdentity());
    await pause(breakMs + 50);
    expect((await client.findById(someId())).identity).toBeDefined();
    expect(client.status()).toEqual({ breaker: 'closed' });
  });

  it('stays closed when identity rejects requests', async () => {
    for (const status of [403, 404, 409, 422]) {
      stub.answer = json(status, {});
      for (let count = 0; count < 6; count += 1) await client.findById(someId()).catch(() => undefined);
    }
    expect(client.status()).toEqual({ breaker: 'closed' });
  });
});

describe('a rejected service token', () => {
  it.each([401, 403])(
    'returns 502 for %d after one request and logs it once a minute without the token',
    async (status) => {
      stub.answer = json(status, { detail: serviceToken });
      for (const call of [
        client.findById(someId()),
        client.create({ email: 'ann@example.com', password }),
        client.update(someId(), { password }),
        client.delete(someId()),
      ]) {
        expect(await problemOf(call)).toEqual([502, 'identity_credentials_rejected']);
      }
      expect(stub.seen).toHaveLength(4);
      expect(log.filter((line) => line.includes('check SERVICE_TOKEN'))).toHaveLength(1);
    },
  );
});

describe('a change', () => {
  it('returns the status, code and fields of a rejection', async () => {
    const errors = [{ field: 'password', message: 'must be at least 8 characters' }];
    stub.answer = json(422, { code: 'validation_failed', detail: 'x', errors });
    await expect(client.update(someId(), {})).rejects.toMatchObject({ status: 422, errors });
    stub.answer = json(409, { code: 'email_conflict', detail: 'Another identity has this e-mail.' });
    expect(await problemOf(client.create({ email: 'ann@example.com', password }))).toEqual([
      409,
      'email_conflict',
    ]);
    stub.answer = json(409, 'conflict');
    expect(await problemOf(client.update(someId(), {}))).toEqual([502, 'identity_answer_invalid']);
    stub.answer = json(404, { code: 'identity_not_found' });
    expect(await problemOf(client.update(someId(), {}))).toEqual([404, 'user_not_found']);
    expect(await problemOf(client.delete(someId()))).toEqual([404, 'user_not_found']);
    stub.answer = json(404, { code: 'not_found' });
    expect(await problemOf(client.delete(someId()))).toEqual([502, 'identity_answer_invalid']);
  });

  it.each<[string, RequestListener]>([
    ['503', json(503, {})],
    ['a reset connection', reset],
    ['no response', silent],
  ])('is sent only once when the response is lost or invalid: %s', async (_name, answer) => {
    stub.answer = answer;
    client = clientOf(stub.url, hurried);
    await problemOf(client.update(someId(), { password }));
    await problemOf(client.delete(someId()));
    expect(stub.seen.map(({ method }) => method)).toEqual(['PUT', 'DELETE']);
  });
});

describe('a creation whose response is lost', () => {
  // The look-up that follows has its own time.
  beforeEach(() => {
    client = clientOf(stub.url, { timeoutMs: 1_000 });
  });
  const body = { email: 'Ann@example.com', username: 'ann', is_verified: true, password };
  const lost = (identity: () => object | undefined): RequestListener => {
    return (request, response) => {
      if (request.method === 'POST') return silent(request, response);
      const found = identity();
      return json(found === undefined ? 404 : 200, found ?? { code: 'identity_not_found' })(
        request,
        response,
      );
    };
  };
  const made = (overrides: object = {}) =>
    wireIdentity({ email: 'ann@example.com', is_verified: true, ...overrides });

  it('succeeds when a look-up finds the created identity', async () => {
    stub.answer = lost(() => made());
    const { identity } = await client.create(body, 'request-17');
    expect(identity.email).toBe('ann@example.com');
    expect(stub.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /internal/identities',
      'GET /internal/identities/by-email/Ann%40example.com',
    ]);
    expect(stub.seen[0]?.body).toEqual(body);
  });

  const before = '2020-01-01T00:00:00.000Z';
  it.each<[string, () => object | undefined]>([
    ['the look-up finds no identity', () => undefined],
    ['the identity existed before', () => made({ created_at: before, updated_at: before })],
    ['the identity was changed since', () => made({ updated_at: new Date(Date.now() + 1000).toISOString() })],
    ['the username differs', () => made({ username: 'bob' })],
    ['the flags differ', () => made({ is_verified: false })],
    ['the look-up is rejected', () => ({})],
  ])('returns 503 create_outcome_unknown when %s', async (_name, identity) => {
    stub.answer = lost(identity);
    expect(await problemOf(client.create(body))).toEqual([503, 'create_outcome_unknown']);
    expect(stub.seen.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('returns identity_unavailable when the request was never sent', async () => {
    client = clientOf('http://127.0.0.1:1');
    expect(await problemOf(client.create(body))).toEqual([503, 'identity_unavailable']);
  });
});
