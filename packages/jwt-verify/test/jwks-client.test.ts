import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type KeySourceEvent,
  KeysUnavailableError,
  RemoteKeySource,
  type RemoteKeySourceOptions,
} from '../src/index.ts';
import { generateRsa, jwkOf, keyPair, kid } from './support/context.ts';
import { type JwksServer, startJwksServer } from './support/jwks-server.ts';
import { until } from './support/until.ts';

const jwk = jwkOf(keyPair.publicKey);

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
  return new RemoteKeySource({
    jwksUri: `${server.url}/jwks`,
    now: () => seconds * 1000,
    onEvent: (event) => events.push(event),
    ...options,
  });
}

it('fetches on a connection of its own, so that no fetch meets a connection that the server is closing', async () => {
  const sockets = new Set<unknown>();
  server.publish([jwk], { 'Cache-Control': 'max-age=10' });
  const source = sourceWith();
  await source.find(kid);
  seconds += 1_000;
  await source.find(kid);
  for (const { socket, headers } of server.requests) {
    sockets.add(socket);
    expect(headers.connection).toBe('close');
  }
  expect(sockets.size).toBe(2);
});

describe('a response that is not a key set', () => {
  const secretJwk = keyPair.privateKey.export({ format: 'jwk' });
  const json = (body: unknown) => JSON.stringify(body);

  it.each([
    ['is not JSON', '<html>sign in</html>'],
    ['is empty', ''],
    ['is an array', json([jwk])],
    ['has no keys', json({})],
    ['has an empty list', json({ keys: [] })],
    ['has a lone RSA key of 1024 bits', json({ keys: [jwkOf(generateRsa(1024).publicKey)] })],
    ['has a lone key without kid', json({ keys: [{ ...jwk, kid: undefined }] })],
    ['has a lone key for encryption', json({ keys: [{ ...jwk, use: 'enc' }] })],
    ['has a lone key for another algorithm', json({ keys: [{ ...jwk, alg: 'RS512' }] })],
    ['has a lone EC key', json({ keys: [{ ...jwk, kty: 'EC', crv: 'P-256' }] })],
    ['has a lone secret key', json({ keys: [{ kty: 'oct', k: 'AAAA', kid, use: 'sig', alg: 'RS256' }] })],
    ['has a lone key with its private part', json({ keys: [{ ...jwk, ...secretJwk }] })],
    ['has a lone key with a broken modulus', json({ keys: [{ ...jwk, n: '!' }] })],
    [
      'has a lone key of 16,384 bits',
      json({ keys: [{ ...jwk, n: Buffer.alloc(2048, 255).toString('base64url') }] }),
    ],
    ['has a lone key with a weak exponent', json({ keys: [{ ...jwk, e: 'AQ' }] })],
    ['has two keys with the same kid', json({ keys: [jwk, jwkOf(generateRsa().publicKey)] })],
  ])('is a failed fetch and does not change the keys: %s', async (_name, body) => {
    server.publish([jwk]);
    const source = sourceWith();
    const key = await source.find(kid);
    server.respondWith((_request, response) => response.end(body));
    seconds += 250;
    await source.find(kid);
    await until(() => events.length === 2);
    expect(events.at(-1)).toMatchObject({ type: 'refresh_failed', ready: true });
    expect(source.find(kid)).toBe(key);
  });

  it('skips unusable keys and accepts the others, also with unknown members', async () => {
    server.publish([
      jwkOf(generateRsa(1024).publicKey, { kid: 'weak-key-1' }),
      null,
      { ...jwk, key_ops: ['verify'] },
    ]);
    const source = sourceWith();
    await expect(source.find(kid)).resolves.toBeDefined();
    expect(events).toEqual([{ type: 'refreshed', kids: [kid], ignored: 2, changed: true }]);
  });
});

describe('a fetch', () => {
  it('fails for a 304 to an unconditional request', async () => {
    server.respondWith((_request, response) => response.writeHead(304).end());
    const source = sourceWith();
    await expect(source.find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
    expect(source.status().ready).toBe(false);
  });

  it('does not follow a redirect', async () => {
    const elsewhere = await startJwksServer();
    try {
      elsewhere.publish([jwk]);
      server.respondWith((_request, response) =>
        response.writeHead(302, { Location: `${elsewhere.url}/jwks` }).end(),
      );
      await expect(sourceWith().find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
      expect(elsewhere.requests).toHaveLength(0);
      expect(events).toEqual([
        { type: 'refresh_failed', reason: expect.stringContaining('302'), ready: false },
      ]);
    } finally {
      await elsewhere.close();
    }
  });

  it.each([true, false])('stops reading at 64 KiB, with Content-Length: %s', async (isAnnounced) => {
    const body = Buffer.from(JSON.stringify({ keys: [jwk], padding: 'x'.repeat(70_000) }));
    server.respondWith((_request, response) => {
      response.writeHead(200, isAnnounced ? { 'Content-Length': body.length } : {});
      response.end(body);
    });
    await expect(sourceWith().find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
    expect(events).toEqual([
      { type: 'refresh_failed', reason: expect.stringContaining('maxContentLength'), ready: false },
    ]);
  });

  it('requests an uncompressed response, and does not decompress', async () => {
    server.respondWith((_request, response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify({ keys: [jwk] })));
    });
    await expect(sourceWith().find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('ignores proxy variables of the environment', async () => {
    const elsewhere = await startJwksServer();
    Object.assign(process.env, { HTTP_PROXY: elsewhere.url, http_proxy: elsewhere.url });
    try {
      server.publish([jwk]);
      await expect(sourceWith().find(kid)).resolves.toBeDefined();
      expect(elsewhere.requests).toHaveLength(0);
    } finally {
      delete process.env.HTTP_PROXY;
      delete process.env.http_proxy;
      await elsewhere.close();
    }
  });

  it('ends at its timeout although the response is still arriving', async () => {
    let trickle: NodeJS.Timeout | undefined;
    server.respondWith((_request, response) => {
      response.writeHead(200);
      trickle = setInterval(() => response.write(' '), 10);
    });
    try {
      // Without a timeout it would last as long as the response.
      await expect(sourceWith({ timeoutMs: 100 }).find(kid)).rejects.toBeInstanceOf(KeysUnavailableError);
      expect(events).toMatchObject([{ reason: 'no response within 100 ms' }]);
    } finally {
      clearInterval(trickle);
    }
  });

  it.each([
    'ftp://identity.example/jwks',
    'file:///etc/jwks',
    'jwks',
    'http://user@identity.example/jwks',
    'http://:secret@identity.example/jwks',
  ])('refuses the URI %s', (jwksUri) => {
    expect(() => sourceWith({ jwksUri })).toThrow(/URL/);
  });

  it('succeeds even if its listener throws', async () => {
    server.publish([jwk]);
    const onEvent = () => {
      throw new Error('listener');
    };
    await expect(sourceWith({ onEvent }).find(kid)).resolves.toBeDefined();
  });
});
