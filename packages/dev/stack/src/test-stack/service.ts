import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { searchPath, testNodeArguments } from '../environment.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { repositoryRoot } from '../repository-root.ts';
import { threadPoolSize } from '../thread-pool.ts';
import { httpClient } from './http-client.ts';

const execute = promisify(execFile);

export type ServiceName = 'identity' | 'issues';

/** Applies a built service's migrations as the owner of its database, as a deployment does. */
export async function migrate(app: ServiceName, ownerUrl: string, checkout = repositoryRoot): Promise<void> {
  const env = { PATH: searchPath, MIGRATION_DATABASE_URL: ownerUrl, SERVICE_DATABASE_ROLE: app };
  await execute(process.execPath, [...testNodeArguments(), `apps/${app}/dist/migrate.js`], {
    cwd: checkout,
    env,
  });
}

export interface ServiceOptions {
  /** Arguments for Node, such as `['--import', file]`. */
  nodeArguments?: readonly string[] | undefined;
  /** A file for the log, for loads whose log is too large for memory. Default: in memory. */
  logFile?: string | undefined;
  /** The repository whose built service runs. Default: this one. */
  checkout?: string | undefined;
}

/** A built service in its own process. */
export class Service {
  readonly #app: ServiceName;
  readonly #environment: Record<string, string>;
  readonly #nodeArguments: readonly string[];
  readonly #logFile: string | undefined;
  readonly #checkout: string;
  #process: ChildProcess | undefined;
  #log = '';

  constructor(app: ServiceName, environment: Record<string, string>, options: ServiceOptions = {}) {
    this.#app = app;
    this.#environment = environment;
    this.#nodeArguments = options.nodeArguments ?? [];
    this.#logFile = options.logFile;
    this.#checkout = options.checkout ?? repositoryRoot;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#environment.PORT}`;
  }

  get port(): number {
    return Number(this.#environment.PORT);
  }

  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error(`${this.#app} was not started`);
    return this.#process.pid;
  }

  /** The whole log. */
  get log(): string {
    return this.#logFile === undefined ? this.#log : readFileSync(this.#logFile, 'utf8');
  }

  /** Starts the service with additional variables and waits until it listens. */
  async start(more: Record<string, string> = {}): Promise<void> {
    const log = this.#logFile === undefined ? 'pipe' : openSync(this.#logFile, 'a');
    const program = `apps/${this.#app}/dist/server.js`;
    const child = spawn(process.execPath, [...testNodeArguments(), ...this.#nodeArguments, program], {
      cwd: this.#checkout,
      env: {
        PATH: searchPath,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        SHUTDOWN_DELAY_MS: '0',
        UV_THREADPOOL_SIZE: threadPoolSize,
        ...this.#environment,
        ...more,
      },
      stdio: ['ignore', log, log, ...(this.#nodeArguments.length > 0 ? (['ipc'] as const) : [])],
    });
    if (log !== 'pipe') closeSync(log);
    this.#process = child;
    const read = (chunk: unknown) => {
      this.#log += String(chunk);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    for (let isUp = false; !isUp; ) {
      isUp = await this.#answers('/healthz');
      // Another process may have answered.
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`${this.#app} exited with ${child.exitCode}: ${this.log.slice(-2000)}`);
      }
      if (!isUp) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.once('exit', (code) => {
      if (code !== null && code !== 0)
        process.stderr.write(`${this.#app} exited with ${code}: ${this.log.slice(-2000)}\n`);
    });
  }

  /** Waits until the service is ready, which it is only with its database. */
  async untilReady(): Promise<void> {
    if (!(await waitUntil(() => this.#answers('/readyz'), 120_000)))
      throw new Error(`${this.#app} is not ready: ${this.log.slice(-2000)}`);
  }

  // Probed over HTTP, because the log may be silent.
  async #answers(path: '/healthz' | '/readyz'): Promise<boolean> {
    try {
      return (await httpClient(this.url).get(path)).status === 200;
    } catch {
      return false;
    }
  }

  /** Sends a message to the module that `nodeArguments` loaded, and returns its answer. */
  async ask(message: string): Promise<unknown> {
    const child = this.#process;
    if (child === undefined) throw new Error(`${this.#app} was not started`);
    const answer = once(child, 'message');
    child.send(message);
    return (await answer)[0];
  }

  /** Suspends the process until `resume`: it reads nothing, and its connections stay open. */
  suspend(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Stops the service with SIGTERM (drains it) or SIGKILL. @returns the exit code */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    child.kill(signal);
    const [code] = await once(child, 'exit');
    return code;
  }
}
