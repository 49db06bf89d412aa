import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { accessTokenOf, bearerErrorHandler, requireAccessToken } from '../src/express.ts';
import { createTokenVerifier, type KeySource, KeysUnavailableError, localKeySource } from '../src/index.ts';
import { audience, createJwt, issuer, keyPair, kid, noon, realm } from './support/context.ts';

const localKeys = localKeySource(new Map([[kid, keyPair.publicKey]]));

function appWith(keys: KeySource = localKeys) {
  const verifier = createTokenVerifier({ kind: 'access', issuer, audience, keys, now: () => noon });
  const app = express();
  app.get('/open', (_request, response) => {
    response.json(accessTokenOf(response));
  });
  app.use('/me', requireAccessToken(verifier, { realm }));
  app.get('/me', (_request, response) => {
    response.json({ sub: accessTokenOf(response).sub });
  });
  app.use(bearerErrorHandler());
  return app;
}

const bareChallenge = 'Bearer realm="test"';
const invalidToken =
  'Bearer realm="test", error="invalid_token", error_description="The token is not valid."';
const invalidRequest =
  'Bearer realm="test", error="invalid_request", error_description="The Authorization header is malformed."';

describe('requireAccessToken', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('accepts a token after "%s"', async (scheme) => {
    const sub = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
    const token = createJwt({ claims: { sub } });
    const response = await request(appWith()).get('/me').set('Authorization', `${scheme} ${token}`);
    expect([response.status, response.body]).toEqual([200, { sub }]);
  });

  it.each([undefined, 'Basic YW5uOnNlY3JldA==', 'Bearerer token', 'token', 'DPoP abc'])(
    '401s with a challenge without an error code for "%s"',
    async (authorization) => {
      const call = request(appWith()).get('/me');
      const response = await (authorization === undefined ? call : call.set('Authorization', authorization));
      expect([response.status, response.headers['www-authenticate']]).toEqual([401, bareChallenge]);
    },
  );

  it.each([
    'Bearer',
    'Bearer a b',
    'Bearer a,b',
    'Bearer ä',
    'Bearer "abc"',
    'Bearer =',
    'Bearer a, Bearer b',
  ])('400s on malformed bearer credentials: "%s"', async (authorization) => {
    const response = await request(appWith()).get('/me').set('Authorization', authorization);
    expect([response.status, response.headers['www-authenticate']]).toEqual([400, invalidRequest]);
  });

  it.each([
    ['the same valid token twice', (token: string) => [`Bearer ${token}`, `Bearer ${token}`]],
    ['a valid token and another scheme', (token: string) => [`Bearer ${token}`, 'Basic YTpi']],
    ['another scheme and a valid token', (token: string) => ['Basic YTpi', `Bearer ${token}`]],
  ])('400s on two Authorization headers: %s', async (_name, headersFor) => {
    const response = await send(headersFor(createJwt()));
    expect([response.statusCode, response.headers['www-authenticate']]).toEqual([400, invalidRequest]);
  });

  it('401s with invalid_token in its realm on an invalid token', async () => {
    const token = createJwt({ claims: { exp: 1 } });
    const response = await request(appWith()).get('/me').set('Authorization', `Bearer ${token}`);
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, invalidToken]);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.body).toEqual({
      title: 'Unauthorized',
      status: 401,
      detail: 'The token is not valid.',
      code: 'invalid_token',
    });
  });

  it('does not read a token from query or body', async () => {
    const token = createJwt();
    const response = await request(appWith()).get(`/me?access_token=${token}`).send({ access_token: token });
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, bareChallenge]);
  });

  it('503s with Retry-After and no challenge when keys are unavailable', async () => {
    const app = appWith({ find: () => Promise.reject(new KeysUnavailableError('down', 7)) });
    const response = await request(app).get('/me').set('Authorization', `Bearer ${createJwt()}`);
    expect([response.status, response.headers['retry-after']]).toEqual([503, '7']);
    expect(response.headers).not.toHaveProperty('www-authenticate');
  });

  it('quotes the realm', async () => {
    const verifier = createTokenVerifier({ kind: 'access', issuer, audience, keys: localKeys });
    const app = express().use(requireAccessToken(verifier, { realm: 'a"b\\c' }), bearerErrorHandler());
    const response = await request(app).get('/');
    expect(response.headers['www-authenticate']).toBe('Bearer realm="a\\"b\\\\c"');
  });
});

describe('accessTokenOf', () => {
  it('500s without the middleware, even if the request has a valid token', async () => {
    const response = await request(appWith()).get('/open').set('Authorization', `Bearer ${createJwt()}`);
    expect(response.status).toBe(500);
  });
});

/** Sends two header lines, which supertest would join. */
async function send(authorization: string[]): Promise<IncomingMessage> {
  const server = appWith().listen(0, '127.0.0.1');
  try {
    await new Promise((resolve) => {
      server.once('listening', resolve);
    });
    const { port } = server.address() as AddressInfo;
    return await new Promise((resolve, reject) => {
      httpRequest({ port, path: '/me', headers: { Authorization: authorization } }, (response) =>
        resolve(response.resume()),
      )
        .once('error', reject)
        .end();
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
