// Measures files in the database: sizes, write-ahead log, reads, backup, and what a vacuum makes reusable.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createLogger } from '@tessera/service-kit';
import { migrate } from '@tessera/service-kit/migrate';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { fillThroughDatabase } from '@tessera/stack/demo';
import { createServiceDatabase, startPostgres, withDatabase } from '@tessera/stack/postgres';
import pg from 'pg';
import { AttachmentRepository } from '../src/attachments/attachment.repository.ts';
import { DatabaseStore } from '../src/attachments/database.store.ts';
import { createDatabase, prismaDir } from '../src/database.ts';
import { FakeIdentity } from '../test/support/fake-identity.ts';
import { readFileOf, sendFile, sha256 } from '../test/support/files.ts';
import { createSigningKey } from '../test/support/global-setup.ts';
import { issuePath } from '../test/support/issues.ts';
import { startIssuesService } from '../test/support/issues-service.ts';
import { aPerson, type TestPerson } from '../test/support/people.ts';

const help = `Usage: pnpm bench:files [options]

Fills a PostgreSQL of its own (fsync=on, the default settings) with files of 25 MiB by the statements of the store, without HTTP.
Needs twice the size of the files, and a build.

Options:
  --gibibytes <n>        Size of the files. Default: 10.
  --installation <path>  The folder above bin of a PostgreSQL, whose pg_dump and pg_basebackup are measured, too.
  -h, --help             Print this help.
`;

const size = 25 * 1024 ** 2;
const reads = 200;
const flags = ['-c', 'log_autovacuum_min_duration=0'];

process.exitCode = await runCommandLine({
  name: 'bench:files',
  help,
  options: {
    gibibytes: { type: 'string', default: '10' },
    installation: { type: 'string' },
  },
  run: async ({ gibibytes, installation }) => {
    const files = Math.floor((Number(gibibytes) * 1024 ** 3) / size);
    if (!(files >= 4)) throw new UsageError('--gibibytes must be a number from 0.1');
    const folder = mkdtempSync(join(tmpdir(), 'files-bench-'));
    // For root, the server runs as another user.
    chmodSync(folder, 0o711);
    try {
      await measure(folder, files, installation);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return 0;
  },
});

async function measure(folder: string, files: number, installation: string | undefined): Promise<void> {
  show('machine', `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`);
  showNow('started');
  const options = { dataDir: join(folder, 'postgres'), persistent: true, installation, flags };
  let postgres = await startPostgres(options);
  createSigningKey();
  const identity = await FakeIdentity.start();
  try {
    const database = { database: 'issues', role: 'issues', password: 'issues' };
    const databaseUrl = await createServiceDatabase(postgres.adminUrl, database);
    await migrate({ connectionString: databaseUrl, prismaDir });
    const adminUrl = withDatabase(postgres.adminUrl, 'issues');
    let admin = await connect(adminUrl);
    show('PostgreSQL', (await admin('SHOW server_version')).server_version);
    const service = await startIssuesService({ databaseUrl, identity });
    const ann = await aPerson({ http: service.http, identity });
    await fillThroughDatabase(databaseUrl, 10_000);
    const { body: issue } = await ann.post('/api/v1/issues/', { title: 'With files' }).expect(201);
    for (let count = 0; count < 20; count += 1)
      await sendFile(ann, Buffer.from('a'), 'a', `&issue=${issue.id}`).expect(201);

    // Enough rows that the planner prefers indexes from the start.
    await admin(
      `INSERT INTO attachments (id, key, store, uploader_id, name, size, state, sha256, issue_id)
       SELECT gen_random_uuid(), gen_random_uuid(), 's3', $1, 'x', 1, 'stored', '', id FROM issues WHERE id <> $2 LIMIT 5000`,
      [ann.id, issue.id],
    );
    await readLists(ann, issue, admin, 'empty');
    const keys: string[] = [];
    const filling = openStore(databaseUrl, ann.id);
    await showCost(admin, `${files} files of 25 MiB written one by one`, async () => {
      for (let count = 0; count < files; count += 1) keys.push(await filling.write());
    });
    await filling.close();
    show('of which by autovacuum', mebibytes(autovacuumBytes(readFileSync(postgres.logFile, 'utf8'))));
    await showSizes(admin, 'full');
    await readLists(ann, issue, admin, 'full');
    const times: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      const { id } = await admin('SELECT id FROM attachments WHERE key = $1', [
        keys[Math.floor((turn * keys.length) / 20)],
      ]);
      times.push(await timed(() => readFileOf(ann, { id }).expect(200)));
    }
    show('read of 25 MiB over HTTP, of 20 files', quantiles(times));
    await service.stop();
    await backUp(folder, adminUrl, installation);
    await admin.end();

    await postgres.stop();
    const copy = join(folder, 'copy');
    show(
      'copy of the stopped data folder',
      seconds(await timed(() => run('cp', '-a', postgres.folder, copy))),
    );
    await showFolder(copy);
    postgres = await startPostgres({ ...options, port: postgres.port });
    admin = await connect(adminUrl);
    const store = openStore(databaseUrl, ann.id);
    const half = keys.filter((_, place) => place % 2 === 0);
    await showCost(admin, `${half.length} files deleted one by one`, async () => {
      for (const key of half) await store.remove(key);
    });
    await showSizes(admin, 'half deleted');
    await showCost(admin, 'VACUUM attachment_chunks', () => admin('VACUUM attachment_chunks'));
    const vacuumed = await showSizes(admin, 'after VACUUM');
    await showCost(admin, `${half.length} files written again`, async () => {
      for (let count = 0; count < half.length; count += 1) await store.write();
    });
    const grown = (await showSizes(admin, 'full again')) - vacuumed;
    show('of which in reused space', mebibytes(half.length * size - grown));
    await store.close();
    await admin.end();
    showNow('ended');
  } finally {
    await identity.stop();
    await postgres.stop();
  }
}

/** The statements of an upload and of a deletion of bytes. */
function openStore(url: string, uploaderId: string) {
  const logger = createLogger({ service: 'issues', level: 'warn' });
  const { database, close } = createDatabase({ url, poolMax: 2, statementTimeoutMs: 60_000 }, logger);
  const [repository, blobs] = [new AttachmentRepository(database), new DatabaseStore(database)];
  const bytes = randomBytes(size);
  async function* parts() {
    for (let from = 0; from < size; from += 64 * 1024) yield bytes.subarray(from, from + 64 * 1024);
  }
  const contents = {
    sha256: sha256(bytes),
    mediaType: 'application/octet-stream',
    width: null,
    height: null,
  };
  const write = async () => {
    const started = await repository.start({ name: 'a', size, uploaderId, isForIssue: true }, 'database');
    await blobs.write(started.key, parts(), size);
    if (!(await repository.finish(started, contents))) throw new Error('the upload took too long');
    // Otherwise the quota of a day would be exceeded.
    await database.$executeRaw`UPDATE attachments SET created_at = now() - interval '2 days' WHERE id = ${started.id}::uuid`;
    return started.key;
  };
  const remove = async (key: string) => {
    await blobs.delete(key);
    await database.$executeRaw`UPDATE attachment_usage SET bytes = bytes - ${size}::int WHERE store = 'database'`;
  };
  return { write, remove, close };
}

/** The times of reads, and the scans of tables that they cause. */
async function readLists(ann: TestPerson, issue: { id: string }, admin: Sql, when: string): Promise<void> {
  await admin('ANALYZE');
  for (const path of ['/api/v1/issues/?limit=50', issuePath(issue), issuePath(issue, 'attachments/')]) {
    const before = await scansOf(admin);
    const times: number[] = [];
    for (let count = 0; count < reads; count += 1) times.push(await timed(() => ann.get(path).expect(200)));
    // PostgreSQL publishes counts late.
    await pause(11_000);
    const after = await scansOf(admin);
    const scans = Object.keys(after).map((name) => `${name} ${(after[name] ?? 0) - (before[name] ?? 0)}`);
    show(`${when}: ${path.replace(issue.id, 'ID')}`, quantiles(times));
    show('', scans.filter((scan) => !scan.endsWith(' 0')).join(', '));
  }
}

async function scansOf(admin: Sql): Promise<Record<string, number>> {
  const { scans } = await admin(`
    SELECT json_object_agg(name, count) AS scans FROM (
      SELECT relname || ' sequential' AS name, seq_scan AS count FROM pg_stat_user_tables
       WHERE relname IN ('issues', 'attachments', 'attachment_chunks')
      UNION ALL SELECT indexrelname, idx_scan FROM pg_stat_user_indexes
       WHERE relname IN ('issues', 'attachments', 'attachment_chunks')) counted`);
  return scans;
}

/** Shows the parts of the table, and returns its size. */
async function showSizes(admin: Sql, when: string): Promise<number> {
  const sizes = await admin(`
    SELECT pg_relation_size(c.oid)::float8 AS main, pg_relation_size(reltoastrelid)::float8 AS toast,
           (pg_indexes_size(c.oid) + pg_indexes_size(reltoastrelid))::float8 AS indexes, pg_total_relation_size(c.oid)::float8 AS total
      FROM pg_class c WHERE relname = 'attachment_chunks'`);
  const shown = Object.entries<number>(sizes).map(([part, bytes]) => `${part} ${mebibytes(bytes)}`);
  show(`attachment_chunks, ${when}`, shown.join(', '));
  return sizes.total;
}

/** The write-ahead log of the automatic vacuums that have ended. */
function autovacuumBytes(log: string): number {
  const vacuums = log.split('automatic vacuum of table').slice(1);
  return vacuums.reduce((sum, text) => sum + Number(/WAL usage: .*?(\d+) bytes/.exec(text)?.[1] ?? 0), 0);
}

async function showCost(admin: Sql, what: string, work: () => Promise<unknown>): Promise<void> {
  const { before } = await admin('SELECT pg_current_wal_lsn() AS before');
  const time = await timed(work);
  const { wal } = await admin('SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8 AS wal', [before]);
  show(what, `${seconds(time)}, ${mebibytes(wal)} of write-ahead log, load ${load()}`);
}

/** The programs of an older PostgreSQL refuse a newer server. */
async function backUp(folder: string, adminUrl: string, installation: string | undefined): Promise<void> {
  if (installation === undefined) return;
  const [dump, base] = [join(folder, 'dump'), join(folder, 'base')];
  const program = (name: string) => join(installation, 'bin', name);
  show(
    'pg_dump --format=custom',
    seconds(await timed(() => run(program('pg_dump'), '-Fc', '-f', dump, '-d', adminUrl))),
  );
  await showFolder(dump);
  show(
    'pg_basebackup',
    seconds(await timed(() => run(program('pg_basebackup'), '-c', 'fast', '-D', base, '-d', adminUrl))),
  );
  await showFolder(base);
}

/** Shows the size of a backup, and deletes it. */
async function showFolder(path: string): Promise<void> {
  const { stdout } = await run('du', '-s', '--block-size=1', path);
  show('', mebibytes(Number.parseInt(stdout, 10)));
  rmSync(path, { recursive: true });
}

type Sql = Awaited<ReturnType<typeof connect>>;

async function connect(connectionString: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const first = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0];
  return Object.assign(first, { end: () => client.end() });
}

function run(program: string, ...args: string[]) {
  return promisify(execFile)(program, args);
}

async function timed(work: () => PromiseLike<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function quantiles(times: number[]): string {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, maximum ${at(1)} ms (${sorted.length})`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

function load(): string | undefined {
  return loadavg()[0]?.toFixed(1);
}

function showNow(name: string): void {
  show(name, `${new Date().toISOString()}, load ${load()}`);
}

function show(name: string, value: string): void {
  console.log(name.padEnd(42), value);
}
