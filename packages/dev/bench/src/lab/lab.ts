import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceDatabase, startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import { canRunRedmine } from '@tessera/trackers/redmine';
import pg from 'pg';
import { LoadGenerator } from '../load/load-generator.ts';
import { type BenchOptions, defaultRows } from '../options.ts';
import { type RedminePeer, startRedminePeer } from '../peers/redmine.ts';
import { type Recipes, recordServices } from '../recording/record-services.ts';
import { findPostmaster } from './postmaster.ts';
import { Scope } from './scope.ts';
import { startTessera, type Tessera } from './tessera.ts';

/** Everything that rows share, started when the first row wants it. */
export class Lab {
  readonly options: BenchOptions;
  /** Told what takes a while. */
  readonly note: (text: string) => void;
  readonly #scope = new Scope();
  readonly #logs = mkdtempSync(join(tmpdir(), 'tessera-bench-'));
  #postgres: Promise<TestPostgres> | undefined;
  #tessera: Promise<Tessera> | undefined;
  #largeTessera: Promise<Tessera> | undefined;
  #recipes: Promise<Recipes> | undefined;
  #postmaster: Promise<number | undefined> | undefined;
  #redmine: Promise<RedminePeer> | undefined;
  #generator: LoadGenerator | undefined;

  constructor(options: BenchOptions, note: (text: string) => void) {
    this.options = options;
    this.note = note;
    this.#scope.defer(() => rmSync(this.#logs, { recursive: true, force: true }));
  }

  /** One PostgreSQL for everybody. */
  postgres(): Promise<TestPostgres> {
    this.#postgres ??= this.#startPostgres();
    return this.#postgres;
  }

  /** Both services with a thousand issues and identities. */
  tessera(): Promise<Tessera> {
    this.#tessera ??= this.#startTessera(defaultRows);
    return this.#tessera;
  }

  /** The same with as many as `--rows` says. */
  largeTessera(): Promise<Tessera> {
    this.#largeTessera ??= this.#startTessera(this.options.rows);
    return this.#largeTessera;
  }

  /** What the services tell their databases. */
  recipes(): Promise<Recipes> {
    this.#recipes ??= this.postgres().then(({ adminUrl }) => {
      this.note('recording what the services tell PostgreSQL');
      return recordServices(adminUrl);
    });
    return this.#recipes;
  }

  /**
   * A real Redmine with as many issues as we have.
   * @throws Error where there can be none
   */
  redmine(): Promise<RedminePeer> {
    this.#redmine ??= this.#startRedmine();
    return this.#redmine;
  }

  generator(): LoadGenerator {
    this.#generator ??= this.startGenerator(this.#scope);
    return this.#generator;
  }

  /** One more, for a load beside a load. */
  startGenerator(scope: Scope): LoadGenerator {
    const generator = new LoadGenerator();
    scope.defer(() => generator.stop());
    return generator;
  }

  /** The URL of a new database, for a peer. */
  async emptyDatabase(name: string): Promise<string> {
    const { adminUrl } = await this.postgres();
    const unique = `${name}_${randomBytes(4).toString('hex')}`;
    return createServiceDatabase(adminUrl, { database: unique, role: unique, password: unique });
  }

  async postgresVersion(): Promise<string> {
    const client = new pg.Client({ connectionString: (await this.postgres()).adminUrl });
    await client.connect();
    try {
      const { rows } = await client.query('SHOW server_version');
      return String(rows[0]?.server_version);
    } finally {
      await client.end();
    }
  }

  /** The process that all of PostgreSQL's belong to; undefined where it is not on this machine. */
  postmaster(): Promise<number | undefined> {
    this.#postmaster ??= this.postgres().then(({ adminUrl }) => findPostmaster(adminUrl));
    return this.#postmaster;
  }

  /** Empties the services' logs, which a load fills by the hundred megabytes. */
  emptyLogs(): void {
    for (const folder of readdirSync(this.#logs)) {
      for (const file of readdirSync(join(this.#logs, folder))) truncateSync(join(this.#logs, folder, file));
    }
  }

  /** Ends everything, whatever state it is in. */
  close(): Promise<void> {
    return this.#scope.close();
  }

  async #startPostgres(): Promise<TestPostgres> {
    this.note('starting PostgreSQL');
    const postgres = await startTestPostgres();
    this.#scope.defer(() => postgres.stop());
    return postgres;
  }

  async #startRedmine(): Promise<RedminePeer> {
    if (!canRunRedmine()) throw new Error('needs root and packages/dev/trackers/install-redmine.sh');
    this.note('starting Redmine');
    const peer = await startRedminePeer({ issues: defaultRows });
    this.#scope.defer(peer.stop);
    return peer;
  }

  async #startTessera(rows: number): Promise<Tessera> {
    const { adminUrl } = await this.postgres();
    this.note(`starting both services with ${rows.toLocaleString('en')} issues and identities`);
    return startTessera({
      adminUrl,
      rows,
      logDirectory: mkdtempSync(join(this.#logs, 'services-')),
      scope: this.#scope,
    });
  }
}
