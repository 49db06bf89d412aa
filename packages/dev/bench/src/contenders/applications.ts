import { createHash, randomBytes } from 'node:crypto';
import { HttpBrowser } from '@tessera/delivery/http-browser';
import { Pool } from 'undici';
import { password } from '../lab/fill.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { LoadRequest } from '../load/load.ts';
import { type Endpoint, refreshConnections } from './endpoints.ts';

/** An application that signs people in with OpenID Connect. */
interface Application {
  /** The path with which it sends a browser to identity. */
  authorizePath: string;
  headers: Record<string, string>;
}

interface Applications {
  all: Application[];
  /** The cookies of browsers, each signed in as another person. */
  cookies: string[];
}

// One for all codes: the service hashes it as often as another one for each.
const verifier = randomBytes(32).toString('base64url');
const redirectUri = 'https://app.example/callback';
/** Enough for some seconds: each code works once, within a minute. */
const codesOfMeasurement = 4000;
/** A person has at most 100 codes of an application that are valid: a minute of requests must not reach that. */
const applicationsCount = 60;

const known = new WeakMap<Tessera, Promise<Applications>>();

/** Registers the applications once, and signs all people in. */
function applicationsOf(tessera: Tessera): Promise<Applications> {
  const applications = known.get(tessera) ?? createApplications(tessera);
  known.set(tessera, applications);
  return applications;
}

async function createApplications(tessera: Tessera): Promise<Applications> {
  const all: Application[] = [];
  for (let count = 0; count < applicationsCount; count += 1) all.push(await createApplication(tessera));
  const cookies: string[] = [];
  for (const { email } of tessera.people) {
    const browser = new HttpBrowser();
    await browser.submit(await browser.get(`${tessera.identity.url}/sign-in`), { email, password });
    cookies.push([...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
  }
  return { all, cookies };
}

async function createApplication({ stack }: Tessera): Promise<Application> {
  const { data: client } = await stack.internal.post('/internal/clients', {
    name: 'Bench',
    kind: 'confidential',
    redirect_uris: [redirectUri],
    audiences: ['tessera'],
  });
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid email profile',
    state: randomBytes(16).toString('hex'),
    nonce: randomBytes(16).toString('hex'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const credentials = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64');
  return {
    authorizePath: `/oidc/authorize?${query}`,
    headers: {
      Authorization: `Basic ${credentials}`,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
  };
}

/** A code for an application. */
interface NewCode {
  code: string;
  headers: Application['headers'];
}

/** Gets codes, as the browsers do, over some connections. */
async function newCodes(tessera: Tessera, applications: Application[], count: number): Promise<NewCode[]> {
  const { cookies } = await applicationsOf(tessera);
  const pool = new Pool(tessera.identity.url, { connections: refreshConnections });
  try {
    const responses = Array.from({ length: count }, async (_, index) => {
      const Cookie = cookies[index % cookies.length] ?? '';
      const { authorizePath = '', headers: own = {} } = applications[index % applications.length] ?? {};
      const { headers, body } = await pool.request({
        method: 'GET',
        path: authorizePath,
        headers: { Cookie },
      });
      await body.dump();
      const code = new URL(String(headers.location)).searchParams.get('code');
      if (code === null) throw new Error('a browser got no code');
      return { code, headers: own };
    });
    return await Promise.all(responses);
  } finally {
    await pool.destroy();
  }
}

async function exchangesOf(
  tessera: Tessera,
  applications: Application[],
  count: number,
): Promise<LoadRequest[]> {
  const common = { grant_type: 'authorization_code', code_verifier: verifier, redirect_uri: redirectUri };
  return (await newCodes(tessera, applications, count)).map(({ code, headers }) => ({
    ...tokenRequest,
    headers,
    body: new URLSearchParams({ ...common, code }).toString(),
  }));
}

const tokenRequest: LoadRequest = {
  method: 'POST',
  path: '/oidc/token',
  expect: { status: 200, contains: '"id_token":"' },
};

/** A browser that is signed in gets a code. */
export const authorize: Endpoint = {
  service: 'identity',
  requests: async (tessera) => {
    const { all, cookies } = await applicationsOf(tessera);
    return all.flatMap(({ authorizePath }) =>
      cookies.map((Cookie) => ({
        method: 'GET',
        path: authorizePath,
        headers: { Cookie },
        expect: { status: 303 },
      })),
    );
  },
};

/** An application exchanges codes: as many as there are, instead of for a time. */
export const exchange: Endpoint = {
  service: 'identity',
  requests: () => [tokenRequest],
  connections: refreshConnections,
  prepare: async (tessera) => ({
    requests: await exchangesOf(tessera, (await applicationsOf(tessera)).all, codesOfMeasurement),
    firstRequest: 0,
    total: codesOfMeasurement,
  }),
};

/** An application refreshes tokens. */
export const applicationRefresh: Endpoint = {
  service: 'identity',
  requests: async (tessera) => {
    const [application] = (await applicationsOf(tessera)).all;
    return [{ ...tokenRequest, headers: application?.headers ?? {} }];
  },
  connections: refreshConnections,
  prepare: async (tessera) => {
    const [application] = (await applicationsOf(tessera)).all;
    const own = application === undefined ? [] : [application];
    const tokens = (await exchangesOf(tessera, own, refreshConnections)).map(
      async ({ headers = {}, body }) => {
        const url = `${tessera.identity.url}${tokenRequest.path}`;
        const response = await fetch(url, { method: 'POST', headers, body: body ?? null });
        return ((await response.json()) as { refresh_token: string }).refresh_token;
      },
    );
    const before = 'grant_type=refresh_token&refresh_token=';
    return { chain: { tokens: await Promise.all(tokens), before, after: '' } };
  },
};
