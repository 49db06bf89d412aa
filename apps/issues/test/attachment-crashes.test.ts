import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Attachment } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { fuzzSettings } from '@tessera/testing/fuzz';
import fc from 'fast-check';
import pg from 'pg';
import { filePath, readFileOf, sendFile, storedFaults, uploadFile } from './support/files.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { type S3Server, type StoreFault, startS3Server, storeFaults } from './support/s3-server.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// `ATTACHMENT_CRASHES=100` for a long run: each round kills a process in one of the six steps of a write and a deletion.
const rounds = Number(process.env.ATTACHMENT_CRASHES ?? 6);
const { seed } = fuzzSettings(process.env);

/** When the process dies: in a step of an upload, or of a deletion. */
const steps = ['row', 'bytes', 'stored', 'deleted', 'bytes deleted', 'row deleted'] as const;
type Step = (typeof steps)[number];

interface Round {
  step: Step;
  store: 'database' | 's3';
  fault: StoreFault | undefined;
  size: number;
}

let s3: S3Server;
let app: TestApp;
let ann: TestPerson;
/** Holds the lock for which a step waits until its process has died. */
const pauseLock = 39_000;
let holder: pg.Client;
beforeAll(async () => {
  s3 = await startS3Server();
  app = await startTestApp(s3.environment);
  ann = await aPerson(app);
  holder = new pg.Client({ connectionString: app.databaseUrl });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [pauseLock]);
  await app.sql(`
    CREATE TABLE pauses (step text PRIMARY KEY);
    CREATE FUNCTION pause_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM pauses WHERE step = TG_ARGV[0]) THEN
        PERFORM pg_advisory_xact_lock_shared(${pauseLock});
      END IF;
      RETURN NULL;
    END $$`);
  const pause = (step: Step, when: string, table: string, condition = 'true') =>
    app.sql(
      `CREATE TRIGGER "pause_${step}" AFTER ${when} ON ${table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION pause_at('${step}')`,
    );
  await pause('row', 'INSERT', 'attachments', `NEW.state = 'uploading'`);
  await pause('bytes', 'INSERT', 'attachment_chunks');
  await pause('stored', 'UPDATE', 'attachments', `NEW.state = 'stored' AND OLD.state = 'uploading'`);
  await pause('deleted', 'UPDATE', 'attachments', `NEW.state = 'deleted' AND OLD.state = 'stored'`);
  await pause('bytes deleted', 'DELETE', 'attachment_chunks');
  await pause('row deleted', 'DELETE', 'blob_deletions', 'OLD.attempts > 0');
});
afterAll(async () => {
  await holder.end();
  await app.close();
  await s3.close();
});

const paused = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${pauseLock} AND NOT granted`;

/** The files that were acknowledged, with their bytes, and those whose deletion was acknowledged. */
const files = new Map<string, Buffer>();
const gone = new Set<string>();

/** One process does the work and dies; the service in the process of the test is another replica. */
async function run({ step, store, fault, size }: Round): Promise<void> {
  const issue = await createIssue(ann);
  const environment = { ...s3.environment, ATTACHMENT_STORE: store, JANITOR_INTERVAL_SECONDS: '1' };
  const doomed = await startIssuesService(app, environment);
  try {
    const bytes = randomBytes(size);
    const before = await uploadFile(ann.on(doomed), bytes);
    await ann.post(issuePath(issue, 'comments/'), { body: `attachment:${before.id}` }).expect(201);
    files.set(before.id, bytes);
    s3.setFaults(() => fault);
    const isOfObject = store === 's3' && step.startsWith('bytes');
    const arrived = isOfObject ? s3.arrival(step === 'bytes' ? 'PUT' : 'DELETE') : untilPaused();
    if (!isOfObject) await app.sql('INSERT INTO pauses (step) VALUES ($1)', [step]);
    if (step === 'row' || step === 'bytes' || step === 'stored') {
      const uploading = upload(ann.on(doomed), bytes);
      await Promise.race([uploading, arrived]);
      doomed.kill();
      await uploading;
    } else {
      const deleting = remove(ann.on(doomed), before);
      await (step === 'deleted' ? arrived : Promise.all([deleting, arrived]));
      doomed.kill();
      await deleting;
    }
    await doomed.ended;
  } finally {
    await app.sql('DELETE FROM pauses');
    await app.sql(`SELECT pg_terminate_backend(pid) FROM (${paused}) waiting`);
    s3.setFaults(() => undefined);
    doomed.kill();
    await doomed.ended;
  }
}

async function upload(person: TestPerson, bytes: Buffer): Promise<void> {
  const answer = await sendFile(person, bytes, 'new').catch(() => undefined);
  if (answer?.status === 201) files.set(answer.body.id, bytes);
}

async function remove(person: TestPerson, file: Attachment): Promise<void> {
  // It is not known whether the deletion has an effect, until it is acknowledged.
  files.delete(file.id);
  const answer = await person.delete(filePath(file)).catch(() => undefined);
  if (answer?.status === 204) gone.add(file.id);
  await dueNow();
}

/** A statement of the step waits in the database; or the step is not reached, because the bucket has refused the one before. */
async function untilPaused(): Promise<void> {
  await eventually(
    () =>
      app.sql(`SELECT pid::text FROM (${paused}) waiting
               UNION SELECT key::text FROM blob_deletions WHERE last_error IS NOT NULL`),
    (rows) => rows.length > 0,
  );
}

/** The other replica ends what the killed process has begun. */
async function assertWhole(): Promise<void> {
  await app.sql(`UPDATE attachments SET expires_at = now() - interval '1 second' WHERE state = 'uploading'`);
  await dueNow();
  const { attachments } = app.dependencies.blobs;
  await attachments.repository.deleteExpired(1_000);
  await attachments.worker.deleteDue(1_000);
  expect(await app.sql('SELECT key FROM blob_deletions')).toEqual([]);
  expect(await storedFaults(app)).toEqual([]);
  const stored = await app.sql(`SELECT id, key::text AS key, store FROM attachments WHERE state = 'stored'`);
  const objects = stored.filter(({ store }) => store === 's3').map(({ key }) => key);
  expect((await s3.keys()).sort()).toEqual(objects.sort());
  for (const [id, bytes] of files) {
    const read = await readFileOf(ann, { id }).expect(200);
    expect([id, read.body.equals(bytes)]).toEqual([id, true]);
  }
  const ids = stored.map(({ id }) => id);
  expect([...gone].filter((id) => ids.includes(id))).toEqual([]);
}

const dueNow = () =>
  app.sql(`UPDATE blob_deletions SET due_at = now() - interval '1 second', claim_until = NULL`);

const round = fc.record({
  store: fc.constantFrom('database' as const, 's3' as const),
  fault: fc.option(fc.constantFrom(...storeFaults), { nil: undefined }),
  size: fc.constantFrom(1, 300_000, 2_000_000),
});

it(
  'keeps each acknowledged file, deletes no other, and leaves no bytes without a row, in whichever step a process dies',
  async () => {
    const samples = fc.sample(round, { numRuns: rounds, ...(seed === undefined ? {} : { seed }) });
    for (const [place, sample] of samples.entries()) {
      // Each step in turn.
      const step = steps[place % steps.length] ?? 'row';
      await run({ ...sample, step });
      await assertWhole();
    }
  },
  60_000 + rounds * 60_000,
);
