import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  createTokenVerifier,
  InvalidTokenError,
  type KeySourceEvent,
  KeysUnavailableError,
  RemoteKeySource,
  type RemoteKeySourceOptions,
} from '../src/index.ts';
import { audience, createJwt, generateRsa, issuer, jwkOf, keyPair, kid, noon } from './support/context.ts';
import { type JwksServer, startJwksServer } from './support/jwks-server.ts';
import { until } from './support/until.ts';

const nextPair = generateRsa();
const nextKid = 'test-key-2';
const jwk = jwkOf(keyPair.publicKey);
const nextJwk = jwkOf(nextPair.publicKey, { kid: nextKid });

let server: JwksServer;
let seconds: number;
let events: KeySourceEvent[];

beforeEach(async () => {
  server = await startJwksServer();
  seconds = 1_000;
  events = [];
});

afterEach(async () => {
  await server.close();
});

function sourceWith(options: Partial<RemoteKeySourceOptions> = {}): RemoteKeySource {
  // A fetch that outlives its test must not appear in the next one.
  const own = events;
  return new RemoteKeySource({
    jwksUri: `${server.url}/jwks`,
    now: () => seconds * 1000,
    onEvent: (event) => own.push(event),
    ...options,
  });
}

function verifierOf(keys: RemoteKeySource) {
  return createTokenVerifier({ kind: 'access', issuer, audience, keys, now: () => noon });
}

const nextToken = () => createJwt({ header: { kid: nextKid }, key: nextPair.privateKey });

/** Long enough for a request on this machine to arrive. */
const pause = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 50);
  });

/** Resolves when this number of fetches has ended. */
const settle = (fetches: number) => until(() => events.length === fetches);

function failWith(status: number): void {
  server.respondWith((_request, response) => response.writeHead(status).end());
}

describe('while keys are fresh', () => {
  it('fetches once for a hundred concurrent requests', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    await Promise.all(Array.from({ length: 100 }, () => verifier.verify(createJwt())));
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    { header: 'public, max-age=100', freshSeconds: 79 },
    { header: 'Max-Age="100"', freshSeconds: 79 },
    { header: '', freshSeconds: 239 },
    { header: 's-maxage=5000, x-max-age=5000', freshSeconds: 239 },
    { header: 'max-age=0', freshSeconds: 7 },
    { header: 'no-store, max-age=100', freshSeconds: 7 },
    { header: 'max-age=999999999', freshSeconds: 69_119 },
  ])('fetches again after four fifths of "$header", within ten seconds and a day', async (row) => {
    server.publish([jwk], { 'Cache-Control': row.header });
    const source = sourceWith();
    await source.find(kid);
    seconds += row.freshSeconds;
    await source.find(kid);
    await pause();
    expect(server.requests).toHaveLength(1);
    seconds += 1;
    await source.find(kid);
    await settle(2);
    expect(server.requests).toHaveLength(2);
  });

  it('subtracts the Age of the response', async () => {
    server.publish([jwk], { 'Cache-Control': 'max-age=100', Age: '50' });
    const source = sourceWith();
    await source.find(kid);
    seconds += 40;
    await source.find(kid);
    await settle(2);
  });
});

describe('when keys are due', () => {
  it('returns the current keys at once and renews them in the background', async () => {
    server.publish([jwk]);
    const source = sourceWith();
    const key = await source.find(kid);
    server.respondWith(() => undefined);
    seconds += 310;
    expect(source.find(kid)).toBe(key);
    expect(source.find(kid)).toBe(key);
    await until(() => server.requests.length === 2);
    expect(source.find(kid)).toBe(key);
    expect(server.requests).toHaveLength(2);
  });

  it('sends a conditional request, and keeps the same key object after a 304', async () => {
    server.respondWith((request, response) => {
      const isKnown = request.headers['if-none-match'] === '"v1"';
      response.writeHead(isKnown ? 304 : 200, { ETag: '"v1"' });
      response.end(isKnown ? undefined : JSON.stringify({ keys: [jwk] }));
    });
    const source = sourceWith();
    const key = await source.find(kid);
    seconds += 250;
    await source.find(kid);
    await settle(2);
    expect(await source.find(kid)).toBe(key);
    expect(events.at(-1)).toEqual({ type: 'refreshed', kids: [kid], ignored: 0, changed: false });
    expect(source.status()).toMatchObject({ ready: true, stale: false });
  });

  it('keeps using the same ETag when a 304 has none', async () => {
    server.respondWith((request, response) => {
      if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end();
      else response.writeHead(200, { ETag: '"v1"' }).end(JSON.stringify({ keys: [jwk] }));
    });
    const source = sourceWith();
    for (const fetches of [1, 2, 3]) {
      await source.find(kid);
      await settle(fetches);
      seconds += 250;
    }
    expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([
      undefined,
      '"v1"',
      '"v1"',
    ]);
  });

  it('keeps the same key object when a response without ETag repeats the key', async () => {
    server.publish([jwk]);
    const source = sourceWith();
    const key = await source.find(kid);
    seconds += 250;
    await source.find(kid);
    await settle(2);
    expect(source.find(kid)).toBe(key);
  });

  it('delays a request while keys are stale for long, so that a withdrawn key is refused', async () => {
    server.publish([jwk, nextJwk]);
    const verifier = verifierOf(sourceWith());
    const token = createJwt();
    await verifier.verify(token);
    server.publish([nextJwk]);
    seconds += 361;
    await expect(verifier.verify(token)).rejects.toBeInstanceOf(InvalidTokenError);
  });
});

describe('on rotation', () => {
  it('finds a new key by its kid, without a restart', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    await verifier.verify(createJwt());
    server.publish([jwk, nextJwk]);
    seconds += 30;
    await expect(verifier.verify(nextToken())).resolves.toBeDefined();
    await expect(verifier.verify(createJwt())).resolves.toBeDefined();
    expect(server.requests).toHaveLength(2);
  });

  it('refuses tokens of a withdrawn key after the renewal, also cached ones', async () => {
    server.publish([jwk, nextJwk]);
    const source = sourceWith();
    const verifier = verifierOf(source);
    const token = createJwt();
    await verifier.verify(token);
    server.publish([nextJwk]);
    seconds += 250;
    await verifier.verify(token);
    await settle(2);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'unknown kid' });
    await expect(verifier.verify(nextToken())).resolves.toBeDefined();
  });

  it('refuses tokens of a deleted key at once, also cached ones, and fetches the key set', async () => {
    server.publish([jwk]);
    const keys = sourceWith();
    const verifier = verifierOf(keys);
    const token = createJwt();
    await verifier.verify(token);
    server.publish([nextJwk]);
    seconds += 5;
    keys.refuse([kid]);
    await expect(verifier.verify(token)).rejects.toThrow(InvalidTokenError);
    await settle(2);
    await verifier.verify(nextToken());
    keys.refuse([kid]);
    expect(server.requests).toHaveLength(2);
    keys.refuse([nextKid]);
    await expect(verifier.verify(nextToken())).rejects.toThrow(InvalidTokenError);
    keys.refuse([]);
    await verifier.verify(nextToken());
  });

  it('refuses a cached token when another key has its kid', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    const token = createJwt();
    await verifier.verify(token);
    server.publish([jwkOf(nextPair.publicKey)]);
    seconds += 250;
    await verifier.verify(token);
    await settle(2);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'invalid signature' });
  });
});

describe('an unknown kid', () => {
  it('fetches at most once per cooldown, and is a 401 in between', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    await verifier.verify(createJwt());
    for (const wait of [0, 29]) {
      seconds += wait;
      await expect(verifier.verify(nextToken())).rejects.toMatchObject({ reason: 'unknown kid' });
    }
    expect(server.requests).toHaveLength(1);
    seconds += 1;
    await Promise.allSettled(Array.from({ length: 50 }, () => verifier.verify(nextToken())));
    expect(server.requests).toHaveLength(2);
  });

  it('is a 503 while identity is down, because it may be newer than the last fetch', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    await verifier.verify(createJwt());
    failWith(500);
    seconds += 30;
    await expect(verifier.verify(nextToken())).rejects.toBeInstanceOf(KeysUnavailableError);
    await expect(verifier.verify(createJwt())).resolves.toBeDefined();
  });

  it('causes a fetch after the cooldown of a failure, and is then a 401', async () => {
    server.publish([jwk]);
    const verifier = verifierOf(sourceWith());
    await verifier.verify(createJwt());
    failWith(500);
    seconds += 30;
    await expect(verifier.verify(nextToken())).rejects.toBeInstanceOf(KeysUnavailableError);
    server.publish([jwk]);
    seconds += 5;
    await expect(verifier.verify(nextToken())).rejects.toBeInstanceOf(InvalidTokenError);
    expect(server.requests).toHaveLength(3);
  });

  it('in a hundred forged tokens during an outage neither affects valid tokens nor causes many fetches', async () => {
    server.publish([jwk]);
    const source = sourceWith();
    const verifier = verifierOf(source);
    const key = await source.find(kid);
    failWith(500);
    const begin = seconds + 400;
    for (seconds = begin; seconds < begin + 60; seconds += 1) {
      const strangers = Array.from({ length: 5 }, () => createJwt({ header: { kid: randomUUID() } }));
      const refusals = Promise.allSettled(strangers.map((token) => verifier.verify(token)));
      await expect(verifier.verify(createJwt())).resolves.toBeDefined();
      for (const refusal of await refusals) {
        expect(refusal).toMatchObject({ status: 'rejected', reason: { status: 503 } });
      }
      expect(source.find(kid)).toBe(key);
    }
    // One initial fetch, then one every five seconds of the minute.
    expect(server.requests).toHaveLength(1 + 60 / 5);
  });
});

describe('while identity is down', () => {
  it('is a 503 before the first successful fetch, then recovers', async () => {
    failWith(503);
    const source = sourceWith();
    const verifier = verifierOf(source);
    const error = await verifier.verify(createJwt()).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(KeysUnavailableError);
    expect(error).toMatchObject({ status: 503, retryAfterSeconds: 5, headers: { 'Retry-After': '5' } });
    expect(source.status()).toEqual({ ready: false, stale: false, kids: [], lastFetchedAt: undefined });
    server.publish([jwk]);
    seconds += 5;
    await expect(verifier.verify(createJwt())).resolves.toBeDefined();
    await expect(verifier.verify(nextToken())).rejects.toBeInstanceOf(InvalidTokenError);
    expect(source.status()).toMatchObject({ ready: true, kids: [kid], lastFetchedAt: expect.any(Date) });
  });

  it('is not requested again within the cooldown of a failure', async () => {
    failWith(503);
    const verifier = verifierOf(sourceWith());
    for (const wait of [0, 0, 4]) {
      seconds += wait;
      await expect(verifier.verify(createJwt())).rejects.toBeInstanceOf(KeysUnavailableError);
    }
    expect(server.requests).toHaveLength(1);
  });

  it('uses stale keys for a day, and no longer', async () => {
    server.publish([jwk]);
    const source = sourceWith();
    const verifier = verifierOf(source);
    await verifier.verify(createJwt());
    failWith(500);
    seconds += 86_400 + 300;
    await expect(verifier.verify(createJwt())).resolves.toBeDefined();
    expect(source.status()).toMatchObject({ ready: true, stale: true });
    seconds += 1;
    expect(source.status()).toMatchObject({ ready: false, kids: [] });
    seconds += 5;
    await expect(verifier.verify(createJwt())).rejects.toBeInstanceOf(KeysUnavailableError);
  });

  it('makes no request wait for a response after one fetch has timed out', async () => {
    server.publish([jwk]);
    const source = sourceWith({ timeoutMs: 50 });
    const key = await source.find(kid);
    server.respondWith(() => undefined);
    seconds += 400;
    await expect(Promise.resolve(source.find(kid))).resolves.toBe(key);
    seconds += 6;
    expect(source.find(kid)).toBe(key);
    await settle(3);
    expect(events.at(-1)).toEqual({
      type: 'refresh_failed',
      reason: 'no response within 50 ms',
      ready: true,
    });
  });
});

describe('start', () => {
  it('fetches at once, and repeatedly while that fails, without a request', async () => {
    failWith(500);
    const source = sourceWith({ failureCooldownSeconds: 0.02, now: () => performance.now() });
    try {
      await expect(source.start()).resolves.toMatchObject({ ready: false });
      server.publish([jwk]);
      await until(() => source.status().ready);
      expect(source.status().kids).toEqual([kid]);
    } finally {
      source.stop();
    }
  });

  it('does not keep the process alive', async () => {
    server.publish([jwk]);
    const setTimer = jest.spyOn(globalThis, 'setTimeout');
    const source = sourceWith();
    try {
      await source.start();
      const timers = setTimer.mock.results.map(({ value }) => value as NodeJS.Timeout);
      expect(timers).not.toHaveLength(0);
      expect(timers.filter((timer) => timer.hasRef())).toEqual([]);
    } finally {
      setTimer.mockRestore();
      source.stop();
    }
  });

  it('ends with stop, even during a fetch', async () => {
    failWith(500);
    const source = sourceWith({ failureCooldownSeconds: 0.02, now: () => performance.now() });
    await source.start();
    source.stop();
    await pause();
    expect(server.requests).toHaveLength(1);
    const underWay = source.start();
    source.stop();
    await underWay;
    await pause();
    expect(server.requests).toHaveLength(2);
  });

  it('is required for background fetches: without it only requests cause fetches', async () => {
    failWith(500);
    const source = sourceWith({ failureCooldownSeconds: 0.02, now: () => performance.now() });
    await expect(source.find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
    await pause();
    expect(server.requests).toHaveLength(1);
  });
});
