import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { searchPath } from '../environment.ts';
import { startWatchdog, type Watchdog } from '../processes/watchdog.ts';
import { repositoryRoot } from '../repository-root.ts';
import { findFreePort } from './free-port.ts';
import type { DatabaseRole } from './service-database.ts';

// Debian installs it in a folder that is not in the search path of every user.
const environment = { PATH: `${searchPath}:/usr/sbin` };

// PgBouncer from 1.23 waits after SIGTERM for its clients, which keep connections. Kubernetes then sends SIGKILL.
const graceMs = 2_000;

/** Whether PgBouncer is installed (packages/dev/testing/install-proxies.sh). */
export function canRunPgBouncer(): boolean {
  return spawnSync('pgbouncer', ['-V'], { env: environment }).error === undefined;
}

/** PgBouncer with the configuration in docs/operations/poolers.md, in front of every database of a PostgreSQL. */
export class PgBouncer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tessera-pgbouncer-'));
  readonly #port: number;
  #process: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;

  private constructor(port: number, server: string, roles: readonly DatabaseRole[], settings: string) {
    this.#port = port;
    const users = roles.map(({ role, password }) => `"${role}" "${password}"\n`);
    writeFileSync(join(this.#folder, 'userlist.txt'), users.join(''));
    writeFileSync(join(this.#folder, 'pgbouncer.ini'), this.#configuration(new URL(server)) + settings);
    // PgBouncer gives up root.
    chmodSync(this.#folder, 0o755);
  }

  /**
   * @param server any URL of the PostgreSQL
   * @param roles the roles that connect
   * @param settings lines in place of those of the page
   */
  static async start(server: string, roles: readonly DatabaseRole[], settings = ''): Promise<PgBouncer> {
    const pgBouncer = new PgBouncer(await findFreePort(), server, roles, settings);
    await pgBouncer.restart();
    return pgBouncer;
  }

  /** Returns the URL with the address of PgBouncer. */
  urlOf(databaseUrl: string): string {
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  /** Starts the program after `end` and waits until it accepts connections. */
  async restart(): Promise<void> {
    const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
    const child = spawn('pgbouncer', ['--quiet', ...user, join(this.#folder, 'pgbouncer.ini')], {
      env: environment,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await once(child, 'spawn');
    this.#process = child;
    this.#watchdog = startWatchdog();
    this.#watchdog.removeOnDeath(this.#folder);
    if (child.pid !== undefined) this.#watchdog.stopOnDeath(child.pid, 'INT');
    while (!(await this.#accepts())) {
      if (child.exitCode !== null) throw new Error(`PgBouncer exited with ${child.exitCode}.`);
      await sleep(20);
    }
  }

  /** Ends the program. It loses every connection, at once or after a grace period. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exit;
    clearTimeout(timer);
    this.#watchdog?.release();
  }

  /** Ends the program for good. */
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.#folder, { recursive: true });
  }

  #configuration({ hostname, port }: URL): string {
    const page = readFileSync(join(repositoryRoot, 'docs/operations/poolers.md'), 'utf8');
    const [, documented] = /^```ini\n(.*?)^```$/ms.exec(page) ?? [];
    if (documented === undefined)
      throw new Error('docs/operations/poolers.md has no configuration of PgBouncer.');
    const here = documented.replace(
      'host=postgres.example port=5432',
      `host=${hostname} port=${port || 5432}`,
    );
    // The last of two values applies.
    return `${here}
listen_addr = 127.0.0.1
listen_port = ${this.#port}
unix_socket_dir =
auth_file = ${join(this.#folder, 'userlist.txt')}
`;
  }

  async #accepts(): Promise<boolean> {
    const socket = connect(this.#port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  }
}
