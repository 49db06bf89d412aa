import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '@tessera/stack/postgres';

/** PgBouncer in transaction mode in front of every database of a PostgreSQL, with its default settings otherwise. */
export class PgBouncer {
  readonly #program: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tessera-pgbouncer-'));
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(program: string, port: number, adminUrl: string) {
    this.#program = program;
    this.#port = port;
    const { hostname, port: databasePort } = new URL(adminUrl);
    const users = ['identity', 'issues', 'identity_owner', 'issues_owner'];
    const passwordOf = (user: string) => (user.endsWith('_owner') ? 'owner' : user);
    writeFileSync(
      join(this.#folder, 'users'),
      users.map((user) => `"${user}" "${passwordOf(user)}"\n`).join(''),
    );
    writeFileSync(
      join(this.#folder, 'pgbouncer.ini'),
      `[databases]
* = host=${hostname} port=${databasePort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(this.#folder, 'users')}
pool_mode = transaction
`,
    );
    // PgBouncer refuses to run as root.
    chmodSync(this.#folder, 0o755);
  }

  static async start(program: string, adminUrl: string): Promise<PgBouncer> {
    const pgBouncer = new PgBouncer(program, await findFreePort(), adminUrl);
    await pgBouncer.start();
    return pgBouncer;
  }

  /** Its host and port. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Starts the program and waits until it accepts connections. */
  async start(): Promise<void> {
    const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
    const child = spawn(this.#program, ['--quiet', ...user, join(this.#folder, 'pgbouncer.ini')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.#process = child;
    while (!(await this.#accepts())) {
      if (child.exitCode !== null) throw new Error(`PgBouncer exited with ${child.exitCode}.`);
      await sleep(20);
    }
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
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
