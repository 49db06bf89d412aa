import { createPrivateKey, createPublicKey, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Identity } from '@tessera/contracts';
import { SignJWT } from 'jose';
import { serviceToken } from './environment.ts';
import type { IdentityProvider, NewIdentity } from './people.ts';

export interface SeenRequest {
  method: string;
  url: string;
  serviceToken: string | undefined;
  requestId: string | undefined;
  authorization: string | undefined;
  body: unknown;
}

const kid = 'key-of-the-run';

/**
 * A fake identity service in the test's process: signs tokens, and serves the key set and lookups over HTTP. Tests of
 * faults replace `answer`.
 */
export class FakeIdentity implements IdentityProvider {
  /** Every request to the internal API. */
  readonly seen: SeenRequest[] = [];
  /** The maximum number of concurrent requests so far. */
  peak = 0;
  /** Handles requests to the internal API. */
  answer: RequestListener = (request, response) => this.#find(request)(request, response);
  readonly url: string;
  readonly #server: Server;
  readonly #people = new Map<string, Identity>();
  #open = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keySet = json(200, { keys: [publicKey()] });
    server.on('request', async (request, response) => {
      if (request.url === '/jwks') return keySet(request, response);
      this.#open += 1;
      this.peak = Math.max(this.peak, this.#open);
      response.once('close', () => {
        this.#open -= 1;
      });
      this.seen.push(await seenRequest(request));
      this.answer(request, response);
    });
  }

  static async start(): Promise<FakeIdentity> {
    // As identity: longer than Node's client keeps an idle connection, so no request meets a closing one.
    const server = createServer({ keepAliveTimeout: 65_000 });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new FakeIdentity(server);
  }

  async create({ password: _, ...fields }: NewIdentity): Promise<Identity> {
    const identity = wireIdentity(fields);
    this.#people.set(identity.id, identity);
    return identity;
  }

  async signIn(
    email: string,
    _password?: string,
    lifetime = '15 minutes',
  ): Promise<{ access_token: string }> {
    const identity = this.#only((one) => one.email === email);
    if (identity === undefined) throw new Error(`no identity has the e-mail ${email}`);
    const { id, username, is_verified, is_staff, is_superuser } = identity;
    const claims = { type: 'access', email, username, is_verified, is_staff, is_superuser };
    const registered = { sub: id, iss: this.url, aud: 'tessera', jti: randomUUID() };
    return { access_token: await this.sign({ ...claims, ...registered }, 'JWT', lifetime) };
  }

  /** Signs a token with the key of the key set. */
  sign(
    claims: Record<string, unknown>,
    typ: string,
    lifetime: string | Date = '15 minutes',
  ): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', typ, kid })
      .setIssuedAt()
      .setExpirationTime(lifetime)
      .sign(privateKey());
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #find({ headers, url = '' }: IncomingMessage): RequestListener {
    if (headers['x-service-token'] !== serviceToken) return json(403, { code: 'service_token_refused' });
    const { pathname, searchParams } = new URL(url, this.url);
    const [, email] = /^\/internal\/identities\/by-email\/([^/]+)$/.exec(pathname) ?? [];
    const [, id] = /^\/internal\/identities\/([^/]+)$/.exec(pathname) ?? [];
    const identity = this.#only((one) => {
      if (id !== undefined) return one.id === id;
      if (email !== undefined) return one.email.toLowerCase() === decodeURIComponent(email).toLowerCase();
      return one.sso_provider === searchParams.get('provider') && one.sso_id === searchParams.get('sso_id');
    });
    return identity === undefined ? json(404, { code: 'identity_not_found' }) : json(200, identity);
  }

  #only(matches: (identity: Identity) => boolean): Identity | undefined {
    return [...this.#people.values()].find(matches);
  }
}

// All test files share the key that global-setup.ts creates, because the creation of an RSA key takes about 100 ms.
function privateKey() {
  return createPrivateKey(process.env.TEST_SIGNING_KEY ?? '');
}

function publicKey() {
  return { ...createPublicKey(privateKey()).export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
}

async function seenRequest(request: IncomingMessage): Promise<SeenRequest> {
  const text = Buffer.concat(await request.toArray()).toString();
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    serviceToken: request.headersDistinct['x-service-token']?.[0],
    requestId: request.headersDistinct['x-request-id']?.[0],
    authorization: request.headers.authorization,
    body: text === '' ? undefined : isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text),
  };
}

/** Returns a listener that responds with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Returns a listener that uses the given listeners in turn, and the last one for all further requests. */
export function inTurn(...answers: [RequestListener, ...RequestListener[]]): RequestListener {
  let turn = 0;
  return (request, response) => {
    const answer = answers[Math.min(turn, answers.length - 1)] ?? answers[0];
    turn += 1;
    answer(request, response);
  };
}

/** Returns an identity in the representation of the internal API. */
export function wireIdentity(overrides: Partial<Identity> = {}): Identity {
  const now = new Date().toISOString();
  return {
    id: randomUUID(),
    email: 'ann@example.com',
    username: 'ann',
    display_name: null,
    sso_provider: null,
    sso_id: null,
    is_active: true,
    is_verified: false,
    is_staff: false,
    is_superuser: false,
    deleted_at: null,
    created_at: now,
    updated_at: now,
    ...overrides,
  };
}
