import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TokenResponse } from '@tessera/contracts';
import { createServiceDatabase, startTestPostgres, withRole } from '@tessera/dev-stack/postgres';
import axios, { type AxiosInstance, type AxiosRequestConfig } from 'axios';
import pg from 'pg';
import { migrate, Service } from './service.ts';

export type Pair = Awaited<ReturnType<typeof startPair>>;

/** Identity and issues, built, each with its own database on one PostgreSQL. */
export async function startPair() {
  const postgres = await startTestPostgres();
  const [identityPort, issuesPort] = [await freePort(), await freePort()];
  const [identityUrl, issuesUrl] = [`http://127.0.0.1:${identityPort}`, `http://127.0.0.1:${issuesPort}`];
  const databases = {
    identity: await makeDatabase(postgres.adminUrl, 'identity'),
    issues: await makeDatabase(postgres.adminUrl, 'issues'),
  };
  const keys = mkdtempSync(join(tmpdir(), 'tessera-keys-'));
  addKey(keys, 1);
  const serviceToken = randomBytes(32).toString('base64url');
  const common = { SERVICE_TOKEN: serviceToken, JWT_ISSUER: identityUrl, ALLOW_LOOPBACK_ISSUER: 'on' };
  const identity = new Service('identity', {
    ...common,
    PORT: String(identityPort),
    DATABASE_URL: databases.identity.service,
    JWT_KEYS_DIR: keys,
  });
  const issues = new Service('issues', {
    ...common,
    PORT: String(issuesPort),
    DATABASE_URL: databases.issues.service,
    IDENTITY_URL: identityUrl,
    PUBLIC_BASE_URL: issuesUrl,
    JWKS_COOLDOWN_SECONDS: '1',
  });
  migrate('identity', databases.identity.owner);
  migrate('issues', databases.issues.owner);
  await identity.start({ JWT_ACTIVE_KID: 'identity-key-1' });
  await issues.start();
  const pools = {
    identity: new pg.Pool({ connectionString: databases.identity.owner, max: 1 }),
    issues: new pg.Pool({ connectionString: databases.issues.owner, max: 1 }),
  };
  return {
    identity,
    issues,
    issuesUrl,
    serviceToken,
    addKey: (number: number) => addKey(keys, number),
    /** The internal API, as a trusted backend calls it. */
    internal: client(identityUrl, { headers: { 'X-Service-Token': serviceToken } }),
    public: client(identityUrl),
    sql: (name: keyof typeof pools, text: string, values: unknown[] = []) => pools[name].query(text, values),
    stop: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
      const codes = [await issues.stop(), await identity.stop()];
      await postgres.stop();
      rmSync(keys, { recursive: true });
      return codes;
    },
  };
}

/** A database with the role that migrates it and the lesser one of its service. */
async function makeDatabase(adminUrl: string, name: 'identity' | 'issues') {
  const owner = { role: `${name}_owner`, password: 'owner' };
  const service = await createServiceDatabase(adminUrl, {
    database: name,
    role: name,
    password: name,
    owner,
  });
  return { service, owner: withRole(service, owner) };
}

/** A person at a browser: signs in at identity, and works on issues with that token. */
export class Person {
  readonly #pair: Pick<Pair, 'public' | 'issuesUrl'>;
  readonly email: string;
  readonly #password: string;
  tokens: TokenResponse | undefined;

  constructor(pair: Pick<Pair, 'public' | 'issuesUrl'>, email: string, password: string) {
    this.#pair = pair;
    this.email = email;
    this.#password = password;
  }

  async signIn(): Promise<this> {
    const { status, data } = await this.#pair.public.post('/token', {
      grant_type: 'password',
      email: this.email,
      password: this.#password,
    });
    if (status !== 200) throw new Error(`${this.email} could not sign in: ${status}`);
    this.tokens = data;
    return this;
  }

  /** Issues' API with this person's token. */
  get issues(): AxiosInstance {
    const token = this.tokens?.access_token;
    return client(`${this.#pair.issuesUrl}/api/v1`, { headers: { Authorization: `Bearer ${token}` } });
  }
}

// Answers are judged by the tests, whatever their status.
function client(baseURL: string, config: AxiosRequestConfig = {}): AxiosInstance {
  return axios.create({ baseURL, validateStatus: () => true, proxy: false, maxRedirects: 0, ...config });
}

function addKey(directory: string, number: number): void {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(join(directory, `identity-key-${number}.pem`), pem, { mode: 0o600 });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
