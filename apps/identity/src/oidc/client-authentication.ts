import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Client } from '../clients/client.ts';
import type { ClientDirectory } from '../clients/client-directory.ts';
import { fitsAlgorithm, readClientKey } from '../clients/client-keys.ts';
import { isSecretOf, sha256 } from '../clients/client-secret.ts';
import type { Database } from '../database.ts';
import { isSignedBy, parseJws } from './jws.ts';
import type { Parameters } from './parameters.ts';
import { invalidClient, protocolProblem } from './protocol-problem.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** How long an assertion may be valid. Its `jti` is stored until it expires. */
const assertionSecondsMax = 600;
const clockToleranceSeconds = 5;

const assertionSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  aud: z.string(),
  exp: z.number(),
  iat: z.number().optional(),
  nbf: z.number().optional(),
  jti: z.string().min(1).max(500),
});

interface ClientAuthenticationDependencies {
  database: Database;
  directory: ClientDirectory;
  /** The `aud` of assertions: exactly the issuer, so that another server cannot use one here. */
  issuer: string;
}

/** Authenticates clients at the token endpoint (RFC 6749 2.3, RFC 7523, OpenID Connect Core 9). */
export class ClientAuthentication {
  readonly #dependencies: ClientAuthenticationDependencies;

  constructor(dependencies: ClientAuthenticationDependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws a 401 problem, or 400 for several credentials. */
  async authenticate(request: IncomingMessage, parameters: Parameters): Promise<Client> {
    const basic = readBasic(request);
    const assertion = parameters.get('client_assertion');
    const secret = parameters.get('client_secret');
    const named = parameters.get('client_id');
    if ([basic, assertion, secret].filter((credential) => credential !== undefined).length > 1)
      throw protocolProblem('invalid_request', 'The client must authenticate in one way.');
    if (basic !== undefined) {
      if (named !== undefined && named !== basic.id) throw invalidClient('client_id differs from the header');
      return this.#bySecret(basic.id, basic.secret);
    }
    if (assertion !== undefined) return this.#byAssertion(assertion, parameters);
    if (named === undefined) throw invalidClient('no credential');
    if (secret !== undefined) return this.#bySecret(named, secret);
    const client = await this.#find(named);
    if (client.kind !== 'public') throw invalidClient('a credential is required');
    return client;
  }

  async #find(id: string): Promise<Client> {
    const client = await this.#dependencies.directory.find(id);
    if (client === undefined) throw invalidClient('unknown or disabled client');
    return client;
  }

  async #bySecret(id: string, secret: string): Promise<Client> {
    const client = await this.#find(id);
    if (!isSecretOf(client, secret)) throw invalidClient('wrong secret');
    return client;
  }

  async #byAssertion(assertion: string, parameters: Parameters): Promise<Client> {
    if (parameters.get('client_assertion_type') !== assertionType)
      throw invalidClient('another type of assertion');
    const jws = parseJws(assertion);
    const { data: claims } = assertionSchema.safeParse(jws?.claims);
    if (jws === undefined || claims === undefined) throw invalidClient('malformed assertion');
    const { iss, sub, aud, exp, iat, nbf, jti } = claims;
    if (iss !== sub || (parameters.get('client_id') ?? sub) !== sub) throw invalidClient('another client');
    if (aud !== this.#dependencies.issuer) throw invalidClient('another audience');
    const now = Date.now() / 1000;
    const latest = now + clockToleranceSeconds;
    if (exp <= now - clockToleranceSeconds || (nbf ?? 0) > latest || (iat ?? 0) > latest)
      throw invalidClient('an assertion of another time');
    if (exp > now + assertionSecondsMax) throw invalidClient('an assertion that is valid too long');
    const client = await this.#find(sub);
    const keys = (client.jwks?.keys ?? []).filter((key) => jws.kid === undefined || key.kid === jws.kid);
    for (const jwk of keys) {
      const key = readClientKey(jwk);
      if (key === undefined || !fitsAlgorithm(key, jws.algorithm) || !(await isSignedBy(jws, key))) continue;
      if (await this.#isFirstUse(client.id, jti, exp)) return client;
      throw invalidClient('an assertion that was used');
    }
    throw invalidClient('no key has signed the assertion');
  }

  async #isFirstUse(clientId: string, jti: string, exp: number): Promise<boolean> {
    const expiresAt = new Date((exp + clockToleranceSeconds) * 1000);
    const inserted = await this.#dependencies.database.$executeRaw`
      INSERT INTO client_assertions (client_id, jti_hash, expires_at)
      VALUES (${clientId}::uuid, ${sha256(jti)}, ${expiresAt}::timestamptz) ON CONFLICT DO NOTHING`;
    return inserted === 1;
  }
}

/** Reads `Authorization: Basic`, whose parts are encoded like a form (RFC 6749 2.3.1). */
function readBasic({ headersDistinct }: IncomingMessage): { id: string; secret: string } | undefined {
  const values = headersDistinct.authorization ?? [];
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1) throw invalidClient('several Authorization headers');
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1];
  if (encoded === undefined) throw invalidClient('malformed Authorization header');
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon === -1) throw invalidClient('malformed Authorization header');
  try {
    return { id: decodeForm(text.slice(0, colon)), secret: decodeForm(text.slice(colon + 1)) };
  } catch {
    throw invalidClient('malformed percent-encoding');
  }
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
