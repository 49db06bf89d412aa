import { createHash, randomBytes } from 'node:crypto';
import type { CreatedClient } from '@tessera/contracts';
import type { Response, Test } from 'supertest';
import { redirectUri } from './clients.ts';
import { issuer, type TestApp } from './test-app.ts';

export const oidcIssuer = `${issuer}/oidc`;

type Parameters = Record<string, string | undefined>;

/** A verifier of PKCE and its challenge. */
export function aVerifier(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** The parameters of a usual request; undefined leaves one out. */
export function authorizationOf(
  client: Pick<CreatedClient, 'client_id'>,
  challenge: string,
  overrides: Parameters = {},
): Record<string, string> {
  const all: Parameters = {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid email profile',
    state: 'state-1',
    nonce: 'nonce-1',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...overrides,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** A browser: keeps the cookie, sends the headers of browsers, and fills in forms. */
export class TestBrowser {
  readonly #app: Pick<TestApp, 'http'>;
  cookie: string | undefined;

  constructor(app: Pick<TestApp, 'http'>) {
    this.#app = app;
  }

  get(path: string, query: Record<string, string> = {}): Promise<Response> {
    return this.#send(this.#app.http.get(path).query(query).set('Sec-Fetch-Site', 'cross-site'));
  }

  /** Posts a form of a page of the service. */
  post(path: string, fields: Record<string, string>): Promise<Response> {
    return this.#send(
      this.#app.http.post(path).type('form').send(fields).set('Sec-Fetch-Site', 'same-origin'),
    );
  }

  /** Fills in the form of a page. */
  submit(page: Response, fields: Record<string, string>): Promise<Response> {
    const action = plain(/<form method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? '');
    return this.post(action, { ...hiddenFields(page.text), ...fields });
  }

  async #send(test: Test): Promise<Response> {
    if (this.cookie !== undefined) test.set('Cookie', this.cookie);
    const response = await test.redirects(0);
    const [set] = [response.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) this.cookie = set.includes('Max-Age=0') ? undefined : set.split(';')[0];
    return response;
  }
}

/** The field of a form that carries a request. */
export function formOf(parameters: Record<string, string>): { request: string } {
  return { request: Buffer.from(JSON.stringify(parameters)).toString('base64url') };
}

export function hiddenFields(text: string): Record<string, string> {
  const inputs = text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [plain(name), plain(value)]));
}

function plain(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** The address to which a response leads: by a redirect, or by the page after a form. */
export function nextOf({ status, headers, text }: Response): URL {
  if (status === 303) return new URL(headers.location ?? '', issuer);
  const to = /<meta http-equiv="refresh" content="0;url=([^"]+)">/.exec(text)?.[1];
  if (to === undefined) throw new Error(`The response ${status} leads nowhere: ${text.slice(0, 200)}`);
  return new URL(plain(to), issuer);
}

/** The parameters of an address, of which each occurs once. */
export function parametersOf(url: URL): Record<string, string> {
  return Object.fromEntries(url.searchParams);
}

export function basic({
  client_id,
  client_secret = '',
}: {
  client_id: string;
  client_secret?: string | undefined;
}) {
  return `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
}

/** Sends a form to an endpoint of the protocol with the credential of a client. */
export function postForm(
  app: Pick<TestApp, 'http'>,
  path: string,
  fields: Parameters,
  client?: { client_id: string; client_secret?: string | undefined },
): Test {
  const test = app.http.post(path).type('form');
  if (client?.client_secret !== undefined) test.set('Authorization', basic(client));
  else if (client !== undefined) fields = { client_id: client.client_id, ...fields };
  return test.send(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
}

/** Signs a person in with a new browser and returns the code. */
export async function signInFor(
  app: Pick<TestApp, 'http'>,
  client: CreatedClient,
  person: { email: string; password: string },
  overrides: Parameters = {},
) {
  const browser = new TestBrowser(app);
  const { verifier, challenge } = aVerifier();
  const page = await browser.get('/oidc/authorize', authorizationOf(client, challenge, overrides));
  const done = await browser.submit(page, person);
  return { browser, verifier, code: nextOf(done).searchParams.get('code') ?? '', response: done };
}

/** Gets a further code by the session of a browser. */
export async function nextCode(browser: TestBrowser, client: CreatedClient, overrides: Parameters = {}) {
  const { verifier, challenge } = aVerifier();
  const response = await browser.get('/oidc/authorize', authorizationOf(client, challenge, overrides));
  return { verifier, code: nextOf(response).searchParams.get('code') ?? '', response };
}

export function exchange(
  app: Pick<TestApp, 'http'>,
  client: CreatedClient,
  { code, verifier }: { code: string; verifier: string },
  overrides: Parameters = {},
): Test {
  return postForm(
    app,
    '/oidc/token',
    {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      ...overrides,
    },
    client,
  );
}

/** The claims of a token, without verification. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}
