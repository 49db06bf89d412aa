import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Identity, TokenResponse } from '@tessera/contracts';
import { testNodeArguments } from '@tessera/stack';
import { findFreePort } from '@tessera/stack/postgres';
import { recordEmission } from '@tessera/testing/leaks';
import axios from 'axios';
import { serviceToken } from './environment.ts';
import type { IdentityProvider, NewIdentity } from './people.ts';
import { createTestDatabase } from './test-database.ts';

const folder = fileURLToPath(new URL('../../../identity', import.meta.url));

/** The real identity service, built, in its own process with its own database. */
export class IdentityService implements IdentityProvider {
  readonly #environment: Record<string, string | undefined>;
  readonly url: string;
  readonly databaseUrl: string;
  #process: ChildProcess | undefined;

  private constructor(url: string, databaseUrl: string, environment: Record<string, string>) {
    this.url = url;
    this.databaseUrl = databaseUrl;
    this.#environment = {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      HOST: '127.0.0.1',
      PORT: new URL(url).port,
      DATABASE_URL: databaseUrl,
      SERVICE_TOKEN: serviceToken,
      JWT_ISSUER: url,
      JWT_PRIVATE_KEY: process.env.TEST_SIGNING_KEY,
      BCRYPT_COST: '4',
      HASH_QUEUE_TIMEOUT_MS: '60000',
      UV_THREADPOOL_SIZE: '6',
      SHUTDOWN_DELAY_MS: '0',
      JANITOR_INTERVAL_SECONDS: '0',
      ...environment,
    };
  }

  /**
   * Starts the service on a free port. `down` and `up` keep the port, because the address is the issuer of the tokens.
   */
  static async start(environment: Record<string, string> = {}): Promise<IdentityService> {
    const port = await findFreePort();
    const databaseUrl = await createTestDatabase('identity');
    const service = new IdentityService(`http://127.0.0.1:${port}`, databaseUrl, environment);
    await service.up();
    return service;
  }

  /** Starts the process with additional variables and waits until it listens. */
  async up(more: Record<string, string> = {}): Promise<void> {
    const child = spawn(process.execPath, [...testNodeArguments(), 'dist/server.js'], {
      cwd: folder,
      env: { ...this.#environment, ...more },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk) => {
        recordEmission("identity's log", String(chunk));
        if (String(chunk).includes('"msg":"listening"')) resolve();
      });
      child.once('exit', (code) => reject(new Error(`identity exited with ${code}`)));
    });
  }

  async down(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.down();
  }

  async create(identity: NewIdentity): Promise<Identity> {
    const { data } = await this.#internal.post('/internal/identities', identity);
    return data;
  }

  async update(id: string, changes: object): Promise<Identity> {
    const { data } = await this.#internal.put(`/internal/identities/${id}`, changes);
    return data;
  }

  async endSession(id: string, sessionId: string): Promise<void> {
    await this.#internal.delete(`/internal/identities/${id}/sessions/${sessionId}`);
  }

  async endSessions(id: string): Promise<void> {
    await this.#internal.delete(`/internal/identities/${id}/sessions`);
  }

  async delete(id: string): Promise<void> {
    await this.#internal.delete(`/internal/identities/${id}`);
  }

  async signIn(email: string, password: string): Promise<TokenResponse> {
    const { data } = await axios.post(
      `${this.url}/token`,
      { grant_type: 'password', email, password },
      { proxy: false },
    );
    return data;
  }

  get #internal() {
    return axios.create({ baseURL: this.url, headers: { 'X-Service-Token': serviceToken }, proxy: false });
  }
}
