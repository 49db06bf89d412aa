import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Identity } from '@tessera/contracts';
import type { Test } from 'supertest';
import { publicBaseUrl } from './environment.ts';
import { FakeIdentity, json } from './fake-identity.ts';
import { anEmail, type NewIdentity, password } from './people.ts';
import type { TestApp } from './test-app.ts';

const clientPath = /^\/internal\/clients\/([0-9a-f-]+)(\/rotate-secret)?$/;

interface RegisteredClient {
  secret: string;
  disabled_at: string | null;
  settings: Record<string, unknown>;
}

interface Grant {
  person: Identity;
  nonce: string;
  challenge: string;
  redirectUri: string;
  /** Claims that replace those of the ID token. */
  claims?: Record<string, unknown> | undefined;
  typ?: string | undefined;
}

/** A fake identity service with clients, codes and tokens of OpenID Connect. Tests change what it answers. */
export async function startProvider() {
  const identity = await FakeIdentity.start();
  const issuer = `${identity.url}/oidc`;
  const clients = new Map<string, RegisteredClient>();
  const codes = new Map<string, Grant>();
  const refreshable = new Map<string, Identity>();
  const findPerson = identity.answer;
  const newSecret = () => randomBytes(32).toString('base64url');

  const present = (client_id: string, { disabled_at, settings }: RegisteredClient) => ({
    client_id,
    kind: 'confidential',
    identity_id: null,
    jwks: null,
    redirect_uris: [],
    post_logout_redirect_uris: [],
    backchannel_logout_uri: null,
    scopes: ['openid'],
    audiences: [],
    require_pkce: true,
    is_first_party: true,
    created_at: new Date().toISOString(),
    last_refusal: null,
    disabled_at,
    ...settings,
  });

  const tokensOf = async (person: Identity, idToken?: string) => {
    const registered = { sub: person.id, iss: identity.url, aud: identity.url, jti: randomUUID() };
    const refresh_token = await identity.sign({ ...registered, type: 'refresh' }, 'rt+jwt', '14 days');
    refreshable.set(refresh_token, person);
    const { access_token } = await identity.signIn(person.email);
    const common = { access_token, refresh_token, token_type: 'Bearer', expires_in: 900 };
    return idToken === undefined ? common : { ...common, id_token: idToken };
  };

  const clientOf = (authorization = '') => {
    const [id = '', secret] = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
      .toString()
      .split(':');
    const client = clients.get(id);
    return client !== undefined && client.disabled_at === null && client.secret === secret ? id : undefined;
  };

  const exchange = async (
    { code = '', code_verifier = '', redirect_uri }: Record<string, string>,
    aud: string,
  ) => {
    const grant = codes.get(code);
    codes.delete(code);
    const isRight =
      grant?.redirectUri === redirect_uri && grant?.challenge === hash('sha256', code_verifier, 'base64url');
    if (grant === undefined || !isRight) return undefined;
    const { person, nonce, claims, typ = 'JWT' } = grant;
    const all = { iss: issuer, sub: person.id, aud, nonce, sid: `sso-${person.id}`, ...claims };
    const idToken =
      typ === 'access'
        ? (await identity.signIn(person.email)).access_token
        : await identity.sign(all, typ, claims?.exp === undefined ? '15 minutes' : new Date(0));
    return tokensOf(person, idToken);
  };

  const token = async (form: Record<string, string>, authorization: string | undefined) => {
    const clientId = clientOf(authorization);
    if (clientId === undefined) return json(401, { error: 'invalid_client' });
    const person = refreshable.get(form.refresh_token ?? '');
    refreshable.delete(form.refresh_token ?? '');
    const tokens =
      form.grant_type === 'refresh_token'
        ? person && (await tokensOf(person))
        : await exchange(form, clientId);
    return tokens === undefined ? json(400, { error: 'invalid_grant' }) : json(200, tokens);
  };

  const administer = (method: string, url: string, body: unknown): RequestListener | undefined => {
    if (method === 'POST' && url === '/internal/clients') {
      const { kind: _, ...settings } = body as Record<string, unknown>;
      const client = { secret: newSecret(), disabled_at: null, settings };
      const id = randomUUID();
      clients.set(id, client);
      return json(201, { ...present(id, client), client_secret: client.secret });
    }
    if (method === 'GET' && url.startsWith('/internal/clients?'))
      return json(
        200,
        [...clients].map(([id, client]) => present(id, client)),
      );
    const [, id = '', rotates] = clientPath.exec(url) ?? [];
    if (id === '') return undefined;
    const client = clients.get(id);
    if (client === undefined) return json(404, { code: 'client_not_found', detail: 'Client not found.' });
    if (rotates !== undefined) client.secret = newSecret();
    if (method === 'DELETE') {
      client.disabled_at = new Date().toISOString();
      return json(204, undefined);
    }
    if (method === 'PATCH') client.settings = body as Record<string, unknown>;
    return rotates === undefined
      ? json(200, present(id, client))
      : json(200, { client_secret: client.secret, previous_valid_until: null });
  };

  const answer: RequestListener = async (request, response) => {
    const { method = '', url = '', body, authorization } = identity.seen.at(-1) ?? {};
    const form = (body ?? {}) as Record<string, string>;
    if (url === '/oidc/token') return (await token(form, authorization))(request, response);
    if (url === '/oidc/revoke')
      return json(clientOf(authorization) === undefined ? 401 : 200, {})(request, response);
    const administered = administer(method, url, body);
    if (administered !== undefined) return administered(request, response);
    findPerson(request, response);
  };
  identity.answer = answer;

  return {
    identity,
    issuer,
    clients,
    answer,
    /** The requests to a path, by its beginning. */
    requests: (method: string, path: string) =>
      identity.seen.filter((one) => one.method === method && one.url.startsWith(path)),
    aPerson: (rights: Partial<NewIdentity> = {}) =>
      identity.create({ email: anEmail(), password, ...rights }),
    /** Lets a person sign in at the URL of identity's page. @returns the path with query to which the browser returns */
    authorize: (
      url: string,
      person: Identity,
      { claims, typ }: Pick<Grant, 'claims' | 'typ'> = {},
    ): { path: string; query: URLSearchParams } => {
      const asked = new URL(url).searchParams;
      const redirectUri = asked.get('redirect_uri') ?? '';
      const code = randomUUID();
      codes.set(code, {
        person,
        claims,
        typ,
        redirectUri,
        nonce: asked.get('nonce') ?? '',
        challenge: asked.get('code_challenge') ?? '',
      });
      const query = new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuer });
      return { path: new URL(redirectUri).pathname, query };
    },
  };
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;

/** The headers of a navigation that begins at another site. */
export const navigation = {
  Host: new URL(publicBaseUrl).host,
  'Sec-Fetch-Site': 'cross-site',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
};

/** A browser with all its cookies that follows the way to identity and back. */
export class HostedBrowser {
  readonly cookies = new Map<string, string>();
  readonly #app: Pick<TestApp, 'http'>;

  constructor(app: Pick<TestApp, 'http'>) {
    this.#app = app;
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Sends a request with the cookies, and keeps those of its response. */
  send(method: 'get' | 'delete', path: string, headers: Record<string, string> = navigation): Test {
    const request = this.#app.http[method](path).set(headers).redirects(0);
    if (this.cookies.size > 0) request.set('Cookie', this.cookie);
    request.on('response', ({ headers: given }: { headers: Record<string, unknown> }) => {
      for (const set of [given['set-cookie'] ?? []].flat() as string[]) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (value === '') this.cookies.delete(name);
        else this.cookies.set(name, value);
      }
    });
    return request;
  }

  /** Goes to identity's page. @returns its URL */
  async begin(query = ''): Promise<string> {
    const { status, headers } = await this.send('get', `/app/oidc/sign-in${query}`);
    if (status !== 303) throw new Error(`the sign-in began with ${status}`);
    return headers.location ?? '';
  }

  /** Returns from identity's page. @returns the path to which the app goes */
  async finish({ path, query }: { path: string; query: URLSearchParams }): Promise<string> {
    const { status, headers } = await this.send('get', `${path}?${query}`);
    if (status !== 303) throw new Error(`the sign-in ended with ${status}`);
    const { pathname, search, hash: fragment } = new URL(headers.location ?? '');
    return pathname + search + fragment;
  }
}

/** The variables of an app whose people sign in at identity. */
export const hosted = {
  WEB_APP: 'on',
  SIGN_IN: 'hosted',
  SESSION_KEYS: randomBytes(32).toString('base64'),
  RATE_LIMIT_SIGN_INS_PER_MINUTE: '0',
};
export const sessionCookie = '__Host-tessera';
/** The headers of a request or a navigation of the app's own pages. */
export const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' };

/** Signs a new person in. */
export async function aSignedInBrowser(
  app: Pick<TestApp, 'http'>,
  provider: Provider,
  rights: Partial<NewIdentity> = {},
) {
  const [browser, person] = [new HostedBrowser(app), await provider.aPerson(rights)];
  await browser.finish(provider.authorize(await browser.begin(), person));
  return { browser, person };
}

/** @returns the id of the person of the session, or null */
export async function userOf(browser: HostedBrowser): Promise<string | null> {
  return (await browser.send('get', '/app/session', sameOrigin).expect(200)).body.user?.id ?? null;
}
