import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** Applies a built service's migrations as the owner of its database, as a deployment does. */
export function migrate(app: 'identity' | 'issues', ownerUrl: string): void {
  const { status, stderr } = spawnSync(process.execPath, [`apps/${app}/dist/migrate.js`], {
    cwd: repository,
    env: { PATH: process.env.PATH, MIGRATION_DATABASE_URL: ownerUrl, SERVICE_DATABASE_ROLE: app },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${app} did not migrate: ${stderr}`);
}

/** A built service as a process of its own. */
export class Service {
  readonly #app: 'identity' | 'issues';
  readonly #environment: Record<string, string>;
  #process: ChildProcess | undefined;
  #log = '';

  constructor(app: 'identity' | 'issues', environment: Record<string, string>) {
    this.#app = app;
    this.#environment = environment;
  }

  /** Everything that the service has logged. */
  get log(): string {
    return this.#log;
  }

  /** Starts, with further variables, and waits until it listens. */
  async start(more: Record<string, string> = {}): Promise<void> {
    const child = spawn(process.execPath, [`apps/${this.#app}/dist/server.js`], {
      cwd: repository,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        SHUTDOWN_DELAY_MS: '0',
        UV_THREADPOOL_SIZE: '6',
        ...this.#environment,
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      const read = (chunk: unknown) => {
        this.#log += String(chunk);
        if (String(chunk).includes('"msg":"listening"')) resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('exit', (code) =>
        reject(new Error(`${this.#app} exited with ${code}: ${this.#log.slice(-2000)}`)),
      );
    });
  }

  /** Drains it (SIGTERM) or lets it die at once (SIGKILL); answers the exit code. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    child.kill(signal);
    const [code] = await once(child, 'exit');
    return code;
  }
}
