// Runs clients from npm against identity. Arguments: issuer, audience, e-mail, password. Prints the outcomes as JSON.

import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import fastifyJwt from '@fastify/jwt';
import { type TokenResponse, tokenResponseSchema } from '@tessera/contracts';
import { createTokenVerifier, RemoteKeySource } from '@tessera/jwt-verify';
import express, { type RequestHandler } from 'express';
import { type AuthOptions, auth } from 'express-oauth2-jwt-bearer';
import { fastify } from 'fastify';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import jwt from 'jsonwebtoken';
import jwksRsa from 'jwks-rsa';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import passport from 'passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { z } from 'zod';
import type { Target } from './outcome.ts';
import { type Attempt, runClients, type StandardClient } from './standard-client.ts';

const clientId = 'any-client';

// One session for all verifications, because a sign-in costs a password hash.
let tokens: Promise<TokenResponse> | undefined;

async function signIn({ issuer, email, password }: Target): Promise<TokenResponse> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ grant_type: 'password', email, password }),
  });
  return tokenResponseSchema.parse(await response.json());
}

/** A verification works if it accepts access tokens and refuses refresh tokens. */
function verification(verify: (token: string, target: Target) => Promise<unknown>, line?: string): Attempt {
  return {
    ...(line === undefined ? {} : { line }),
    run: async (target) => {
      tokens ??= signIn(target);
      const { access_token: accessToken, refresh_token: refreshToken } = await tokens;
      await verify(accessToken, target);
      const acceptsRefreshToken = await verify(refreshToken, target).then(
        () => true,
        () => false,
      );
      if (acceptsRefreshToken) throw new Error('accepts a refresh token');
    },
  };
}

/** A library that only verifies access tokens. */
function verifier(name: string, verify: (token: string, target: Target) => Promise<unknown>): StandardClient {
  return { name, steps: { verification: [verification(verify)] } };
}

/** Throws unless a route behind the middleware answers 200 to the token. */
async function askThrough(middleware: RequestHandler, token: string): Promise<void> {
  const app = express();
  app.get('/', middleware, (_request, response) => {
    response.end();
  });
  app.use(((error, _request, response, _next) => {
    response.status(401).end(String(error));
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// openid-client verifies no access tokens; `/userinfo` does.
function openidClient(): StandardClient {
  const insecure = { execute: [openid.allowInsecureRequests] };
  const discover = ({ issuer }: Target) =>
    openid.discovery(new URL(issuer), clientId, undefined, openid.None(), insecure);
  const start = async (target: Target) => {
    const config = await discover(target);
    const { email: username, password } = target;
    const tokens = await openid.genericGrantRequest(config, 'password', { username, password });
    return { config, token: tokens.refresh_token ?? '' };
  };
  const refresh = async (target: Target) => {
    const { config, token } = await start(target);
    return openid.refreshTokenGrant(config, token);
  };
  const refreshWithLine = async (target: Target) => {
    let { config, token } = await start(target);
    const { issuer } = target;
    config = new openid.Configuration(
      { issuer, token_endpoint: new URL('/token/refresh', issuer).href },
      clientId,
    );
    openid.allowInsecureRequests(config);
    return openid.refreshTokenGrant(config, token);
  };
  const line =
    "config = new openid.Configuration({ issuer, token_endpoint: new URL('/token/refresh', issuer).href }, clientId)";
  return {
    name: named('openid-client'),
    steps: {
      discovery: [{ run: discover }],
      signIn: [{ run: start }],
      refresh: [{ run: refresh }, { line, run: refreshWithLine }],
      verification: [
        verification(async (token, target) =>
          openid.fetchUserInfo(await discover(target), token, openid.skipSubjectCheck),
        ),
      ],
    },
  };
}

function oauth4webapi(): StandardClient {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const client = { client_id: clientId };
  const discover = async ({ issuer }: Target) => {
    const url = new URL(issuer);
    return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, insecure));
  };
  const start = async (target: Target) => {
    const as = await discover(target);
    const { email: username, password } = target;
    const response = await oauth.genericTokenEndpointRequest(
      as,
      client,
      oauth.None(),
      'password',
      { username, password },
      insecure,
    );
    const tokens = await oauth.processGenericTokenEndpointResponse(as, client, response);
    return { as, token: tokens.refresh_token ?? '' };
  };
  const refreshAt = async (as: oauth.AuthorizationServer, token: string) => {
    const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, insecure);
    return oauth.processRefreshTokenResponse(as, client, response);
  };
  const refresh = async (target: Target) => {
    const { as, token } = await start(target);
    return refreshAt(as, token);
  };
  const refreshWithLine = async (target: Target) => {
    let { as, token } = await start(target);
    as = { ...as, token_endpoint: new URL('/token/refresh', as.issuer).href };
    return refreshAt(as, token);
  };
  const verify = async (token: string, target: Target) => {
    const request = new Request('http://localhost', { headers: { Authorization: `Bearer ${token}` } });
    return oauth.validateJwtAccessToken(await discover(target), request, target.audience, insecure);
  };
  const verifyWithJose = async (token: string, target: Target) => {
    const { audience } = target;
    const as = await discover(target);
    return jwtVerify(token, createRemoteJWKSet(new URL(as.jwks_uri ?? '')), { issuer: as.issuer, audience });
  };
  return {
    name: named('oauth4webapi'),
    steps: {
      discovery: [{ run: discover }],
      signIn: [{ run: start }],
      refresh: [
        { run: refresh },
        {
          line: "as = { ...as, token_endpoint: new URL('/token/refresh', as.issuer).href }",
          run: refreshWithLine,
        },
      ],
      verification: [
        verification(verify),
        verification(
          verifyWithJose,
          "jwtVerify(token, createRemoteJWKSet(new URL(as.jwks_uri ?? '')), { issuer: as.issuer, audience })",
        ),
      ],
    },
  };
}

const joseClient = verifier(named('jose'), (token, { issuer, audience }) =>
  jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/jwks`)), { issuer, audience }),
);

const jwksRsaClient = verifier(
  `${named('jwks-rsa')}, ${named('jsonwebtoken')}`,
  async (token, { issuer, audience }) => {
    const keys = jwksRsa({ jwksUri: `${issuer}/jwks` });
    const kid = jwt.decode(token, { complete: true })?.header.kid;
    const key = (await keys.getSigningKey(kid)).getPublicKey();
    return jwt.verify(token, key, { algorithms: ['RS256'], issuer, audience });
  },
);

function expressBearer(): StandardClient[] {
  const name = named('express-oauth2-jwt-bearer');
  const verify =
    (options: AuthOptions) =>
    (token: string, { issuer, audience }: Target) =>
      askThrough(auth({ issuerBaseURL: issuer, audience, ...options }), token);
  // The middleware reads the discovery document before it verifies the first token.
  const steps = (verifications: Attempt[]) => ({
    discovery: [verification(verify({}))],
    verification: verifications,
  });
  return [
    { name, steps: steps([verification(verify({}))]) },
    {
      name: `${name}, strict`,
      steps: steps([
        verification(verify({ strict: true })),
        verification(
          verify({ strict: true, validators: { client_id: false } }),
          '{ strict: true, validators: { client_id: false } }',
        ),
        verification(
          verify({ strict: true, validators: { client_id: false, typ: false } }),
          '{ strict: true, validators: { client_id: false, typ: false } }',
        ),
      ]),
    },
  ];
}

const passportJwt = verifier(named('passport-jwt'), (token, { issuer, audience }) => {
  const strategy = new Strategy(
    {
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: jwksRsa.passportJwtSecret({ jwksUri: `${issuer}/jwks` }),
      algorithms: ['RS256'],
      issuer,
      audience,
    },
    (claims: unknown, done: (error: null, user: unknown) => void) => done(null, claims),
  );
  return askThrough(passport.authenticate(strategy, { session: false }), token);
});

const decodedToken = z.object({ header: z.object({ kid: z.string() }) });

const fastifyClient = verifier(named('@fastify/jwt'), async (token, { issuer, audience }) => {
  const keys = jwksRsa({ jwksUri: `${issuer}/jwks` });
  const app = fastify();
  await app.register(fastifyJwt, {
    decode: { complete: true },
    // The arguments are the request and the token; the package's types lack the first one.
    secret: async (...args: unknown[]) =>
      (await keys.getSigningKey(decodedToken.parse(args[1]).header.kid)).getPublicKey(),
    verify: { algorithms: ['RS256'], allowedIss: issuer, allowedAud: audience },
  });
  app.get('/', { onRequest: (request) => request.jwtVerify() }, () => 'verified');
  const { statusCode, body } = await app.inject({ url: '/', headers: { authorization: `Bearer ${token}` } });
  await app.close();
  if (statusCode !== 200) throw new Error(body);
});

const jwtVerifyClient = verifier('@tessera/jwt-verify', (token, { issuer, audience }) => {
  const keys = new RemoteKeySource({ jwksUri: `${issuer}/jwks` });
  return createTokenVerifier({ kind: 'access', issuer, audience, keys }).verify(token);
});

function named(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version}`;
}

const clients = [
  openidClient(),
  oauth4webapi(),
  joseClient,
  jwksRsaClient,
  ...expressBearer(),
  passportJwt,
  fastifyClient,
  jwtVerifyClient,
];
const [issuer = '', audience = '', email = '', password = ''] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await runClients(clients, { issuer, audience, email, password })));
