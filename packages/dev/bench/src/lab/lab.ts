import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceDatabase, startTestPostgres } from '@tessera/stack/postgres';
import pg from 'pg';
import { startRedminePeer } from '../contenders/redmine.ts';
import { LoadGenerator } from '../load/load-generator.ts';
import { parseStat } from '../load/process-usage.ts';
import { type BenchOptions, defaultRows } from '../options.ts';
import { Scope } from './scope.ts';
import { startTessera, type Tessera } from './tessera.ts';

interface TesseraVariant {
  /** The number of issues and of identities. */
  rows?: number | undefined;
  /** The folder of the checkout whose services run; default: this one. */
  checkout?: string | undefined;
}

/**
 * The shared resources of all rows. Each resource starts when the first row needs it, and stops when the lab closes.
 */
export class Lab {
  readonly options: BenchOptions;
  /** Called with a description of each step that takes a while. */
  readonly note: (text: string) => void;
  readonly #scope = new Scope();
  readonly #logs = mkdtempSync(join(tmpdir(), 'tessera-bench-'));
  readonly #tesseras = new Map<string, Promise<Tessera>>();

  constructor(options: BenchOptions, note: (text: string) => void) {
    this.options = options;
    this.note = note;
    this.#scope.defer(() => rmSync(this.#logs, { recursive: true, force: true }));
  }

  /** The PostgreSQL server of the services and the peers. */
  readonly postgres = once(async () => {
    this.note('starting PostgreSQL');
    const postgres = await startTestPostgres();
    this.#scope.defer(() => postgres.stop());
    return postgres;
  });

  readonly postgresVersion = once(() => this.#query('SHOW server_version', String));

  /** The parent process of every process of PostgreSQL; undefined when it is not on this machine. */
  readonly postmaster = once(() =>
    this.#query('SELECT pg_backend_pid()', (pid) => {
      try {
        return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).parent;
      } catch {
        // Another machine, or a system without /proc.
        return undefined;
      }
    }),
  );

  /** A real Redmine with as many issues as Tessera. Rejects where Redmine cannot run. */
  readonly redmine = once(async () => {
    if (!this.options.redmine) throw new Error('left out by --no-redmine');
    this.note('starting Redmine');
    const peer = await startRedminePeer(defaultRows);
    this.#scope.defer(peer.stop);
    return peer;
  });

  readonly generator = once(() => this.startGenerator(this.#scope));

  /** Both services, filled with data. */
  tessera({ rows = defaultRows, checkout }: TesseraVariant = {}): Promise<Tessera> {
    const key = JSON.stringify([rows, checkout]);
    const started = this.#tesseras.get(key) ?? this.#startTessera(rows, checkout);
    this.#tesseras.set(key, started);
    return started;
  }

  /** Starts a further generator, for a load beside another load. */
  startGenerator(scope: Scope): LoadGenerator {
    const generator = new LoadGenerator();
    scope.defer(() => generator.stop());
    return generator;
  }

  /** Creates a database and returns its URL. */
  async emptyDatabase(name: string): Promise<string> {
    const { adminUrl } = await this.postgres();
    const unique = `${name}_${randomBytes(4).toString('hex')}`;
    return createServiceDatabase(adminUrl, { database: unique, role: unique, password: unique });
  }

  /** Truncates the services' logs, which grow by hundreds of megabytes under load. */
  emptyLogs(): void {
    for (const folder of readdirSync(this.#logs)) {
      for (const file of readdirSync(join(this.#logs, folder))) truncateSync(join(this.#logs, folder, file));
    }
  }

  close(): Promise<void> {
    return this.#scope.close();
  }

  async #startTessera(rows: number, checkout: string | undefined): Promise<Tessera> {
    const { adminUrl } = await this.postgres();
    const of = checkout === undefined ? '' : ' of --against';
    this.note(`starting both services${of} with ${rows.toLocaleString('en')} issues and identities`);
    const logDirectory = mkdtempSync(join(this.#logs, 'services-'));
    return startTessera({ adminUrl, rows, checkout, logDirectory, scope: this.#scope });
  }

  /** Runs a query that returns one value, and `use` while its connection is open. */
  async #query<Result>(text: string, use: (value: unknown) => Result): Promise<Result> {
    const client = new pg.Client({ connectionString: (await this.postgres()).adminUrl });
    await client.connect();
    try {
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
      return use(rows[0]?.[0]);
    } finally {
      await client.end();
    }
  }
}

/** Calls `start` once, and returns its result at every call. */
function once<Result>(start: () => Result): () => Result {
  let started: { result: Result } | undefined;
  return () => {
    started ??= { result: start() };
    return started.result;
  };
}
