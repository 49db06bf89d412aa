import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Attachment, attachmentBytesMax } from '@tessera/contracts';
import { CleanupJob } from '@tessera/service-kit';
import { testNodeArguments } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import fc from 'fast-check';
import { AttachmentMoveRepository } from '../src/attachments/attachment-move.repository.ts';
import { AttachmentMove } from '../src/attachments/attachment-move.ts';
import { storeOf } from '../src/attachments/blob-store.ts';
import { createStores } from '../src/attachments/create-stores.ts';
import { readPicture } from '../src/attachments/picture.ts';
import { S3Store } from '../src/attachments/s3.store.ts';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { loadConfig } from '../src/config.ts';
import { testEnvironment } from './support/environment.ts';
import {
  filePath,
  holdUpload,
  readFileOf,
  sendFile,
  storedFaults,
  type UploadAnswer,
  uploadFile,
} from './support/files.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { type S3Server, startS3Server, storeFaults } from './support/s3-server.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let s3: S3Server;
/** Two instances on one database: new files of the first are in the database, those of the second in the bucket. */
let app: TestApp;
let other: TestApp;
let ann: TestPerson;
let onS3: TestPerson;
beforeAll(async () => {
  s3 = await startS3Server();
  app = await startTestApp({ ...s3.environment, ATTACHMENT_STORE: 'database' });
  other = await startTestApp(s3.environment, app);
  ann = await aPerson(app);
  onS3 = ann.on(other);
});
afterAll(async () => {
  await other.close();
  await app.close();
  await s3.close();
});
afterEach(async () => {
  s3.setFaults(() => undefined);
  expect(await faults()).toEqual([]);
});

/** Also objects without a row, and files without an object. */
async function faults(): Promise<unknown[]> {
  const keys = await s3.keys();
  const rows = await app.sql(
    `SELECT key::text AS key, false AS "isFile" FROM blob_deletions UNION SELECT key::text, true FROM attachments WHERE state = 'stored' AND store = 's3'`,
  );
  const known = rows.map(({ key }) => key);
  return [
    ...(await storedFaults(app)),
    ...keys.filter((key) => !known.includes(key)).map((key) => ({ fault: 'an object without a row', key })),
    ...rows
      .filter(({ key, isFile }) => isFile && !keys.includes(key))
      .map(({ key }) => ({ fault: 'a file without its object', key })),
  ];
}

const cleanUp = () => {
  const { attachments } = app.dependencies.blobs;
  return new CleanupJob({
    tasks: cleanupTasks(new CleanupRepository(app.database), { eventRetentionDays: 7, attachments }),
    logger: app.dependencies.logger,
    intervalSeconds: 0,
  }).run();
};
const dueNow = () =>
  app.sql(`UPDATE blob_deletions SET due_at = now() - interval '1 second', claim_until = NULL`);

const environmentOf = ({ databaseUrl, identity }: TestApp) =>
  testEnvironment(databaseUrl, identity.url, s3.environment);

/** Runs the command. */
const move = async (...args: string[]) => {
  const child = spawn(process.execPath, [...testNodeArguments(), 'dist/move-attachments.js', ...args], {
    env: { PATH: process.env.PATH, ...environmentOf(app) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (part) => {
    output += part;
  });
  child.stderr.on('data', (part) => {
    output += part;
  });
  const [code] = await once(child, 'exit');
  return { code, output };
};

describe.each(['database', 's3'] as const)('the store %s', (store) => {
  const person = () => (store === 's3' ? onS3 : ann);

  it('writes, reads ranges of and deletes what the other instance has, too', async () => {
    for (const size of [0, 1, 300_000, 1_000_000]) {
      const bytes = randomBytes(size);
      const file = await uploadFile(person(), bytes);
      expect((await app.sql('SELECT store FROM attachments WHERE id = $1', [file.id]))[0]?.store).toBe(store);
      for (const reader of [ann, onS3]) {
        expect((await readFileOf(reader, file).expect(200)).body.equals(bytes)).toBe(true);
        if (size < 300_000) continue;
        const part = await readFileOf(reader, file).set('Range', 'bytes=262140-262150').expect(206);
        expect(part.body.equals(bytes.subarray(262_140, 262_151))).toBe(true);
      }
      await ann.delete(filePath(file)).expect(204);
    }
    await dueNow();
    expect(await cleanUp()).toMatchObject({ blob_deletions: 4 });
    expect(await app.sql('SELECT FROM blob_deletions')).toEqual([]);
  });

  it('deletes files without an issue after 7 days, uploads without an end after an hour, and no file of an issue', async () => {
    const issue = await createIssue(ann);
    const [bound, old, recent] = [
      await uploadFile(person(), randomBytes(10), 'a', `&issue=${issue.id}`),
      await uploadFile(person()),
      await uploadFile(person()),
    ];
    await app.sql(`UPDATE attachments SET expires_at = now() - interval '1 second' WHERE id = $1`, [old.id]);
    await app.sql(
      `WITH key AS (INSERT INTO blob_deletions (key, store, charge, due_at)
                    VALUES (gen_random_uuid(), 'database', 65536, now() - interval '1 second') RETURNING key)
       INSERT INTO attachments (id, key, store, uploader_id, name, size, expires_at)
       SELECT gen_random_uuid(), key, 'database', $1, 'x', 5, now() - interval '1 second' FROM key`,
      [ann.id],
    );
    await app.sql(`UPDATE attachment_usage SET bytes = bytes + 65536 WHERE store = 'database'`);
    expect(await cleanUp()).toMatchObject({ attachments: 2, blob_deletions: 2 });
    expectProblem(await ann.get(filePath(old, 'content/')), 404, 'attachment_not_found');
    for (const file of [bound, recent]) await readFileOf(ann, file).expect(200);
    await app.sql(
      `UPDATE attachments SET expires_at = now() - interval '1 second' WHERE state = 'deleted' AND issue_id IS NULL`,
    );
    expect((await cleanUp()).attachments).toBeGreaterThanOrEqual(2);
    expect(await app.sql(`SELECT FROM attachments WHERE state = 'deleted' AND issue_id IS NULL`)).toEqual([]);
    await ann.delete(filePath(bound)).expect(204);
    await ann.delete(filePath(recent)).expect(204);
    await dueNow();
    expect(await cleanUp()).toMatchObject({ blob_deletions: 2 });
  });
});

describe('a bucket that does not respond as it should', () => {
  it.each(storeFaults)(
    'keeps every file that was acknowledged, and no object without a row, with the fault %s',
    async (fault) => {
      const bytes = randomBytes(500_000);
      const kept = await uploadFile(onS3, bytes);
      s3.setFaults(() => fault);
      const answer = await sendFile(onS3, bytes);
      if (fault === 'delay') expect(answer.status).toBe(201);
      else expectProblem(answer, 503, 'storage_unavailable');
      const read = await readFileOf(onS3, kept).catch(() => undefined);
      if (fault === 'delay') expect(read?.body.equals(bytes)).toBe(true);
      else expect(read === undefined || read.status === 503 || read.body.length < bytes.length).toBe(true);
      await ann.delete(filePath(kept)).expect(204);
      await dueNow();
      await cleanUp();
      s3.setFaults(() => undefined);
      if (fault === 'delay') await ann.delete(filePath(answer.body)).expect(204);
      // A repeated deletion of a key deletes nothing else.
      const later = await uploadFile(onS3, bytes);
      await dueNow();
      await cleanUp();
      expect(await app.sql('SELECT key FROM blob_deletions')).toEqual([]);
      expect((await readFileOf(onS3, later).expect(200)).body.equals(bytes)).toBe(true);
      await ann.delete(filePath(later)).expect(204);
    },
  );

  it('is seen by the check, also with a wrong key', async () => {
    const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket } = s3.environment;
    const config = {
      endpoint,
      bucket,
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
    };
    await new S3Store(config).check();
    await expect(new S3Store({ ...config, secretAccessKey: 'wrong' }).check()).rejects.toThrow('403');
    await expect(new S3Store({ ...config, bucket: 'none' }).check()).rejects.toThrow('404');
    s3.setFaults(() => 'delay');
    await expect(new S3Store(config, 50).check()).rejects.toThrow('took too long');
    const { monitor } = other.dependencies.blobs.attachments;
    s3.setFaults(() => 'forbidden');
    await monitor.look();
    expect((await other.http.get('/readyz')).body).toMatchObject({ warnings: ['attachment_store'] });
    s3.setFaults(() => undefined);
    await monitor.look();
    expect(monitor.isDown).toBe(false);
  });

  it('needs all of its settings, whose secrets are neither weak nor shown', () => {
    const read = (overrides: Record<string, string>) =>
      loadConfig(testEnvironment('postgresql://a@b/c', 'http://identity.test', overrides));
    expect(read({}).attachments).toEqual({ name: 'database', s3: undefined });
    expect(() => read({ ATTACHMENT_STORE: 's3' })).toThrow(
      /S3_ENDPOINT: is required[\s\S]*S3_SECRET_ACCESS_KEY: is required/,
    );
    expect(() => read({ S3_ENDPOINT: 'http://a' })).toThrow('S3_BUCKET: is required');
    expect(() => read({ ...s3.environment, S3_ENDPOINT: 'http://user:password@a' })).toThrow('S3_ENDPOINT');
    const production = { ...s3.environment, NODE_ENV: 'production', S3_SECRET_ACCESS_KEY: 'minioadmin' };
    expect(() => read(production)).toThrow('S3_SECRET_ACCESS_KEY: must be random');
    expect(() => read(production)).not.toThrow('minioadmin');
  });
});

describe('two processes', () => {
  /** New files of the first are in the database, those of the second in the bucket. */
  let processes: IssuesService[];
  const instance = (place: number) => processes[place % 2] as IssuesService;
  const on = (person: TestPerson, place: number) => person.on(instance(place));
  beforeAll(async () => {
    const environment = { ...s3.environment, JANITOR_INTERVAL_SECONDS: '1' };
    processes = await Promise.all(
      (['database', 's3'] as const).map((store) =>
        startIssuesService(app, { ...environment, ATTACHMENT_STORE: store }),
      ),
    );
  });
  afterAll(async () => {
    expect(await Promise.all(processes.map(({ stop }) => stop()))).toEqual([0, 0]);
  });

  /** Waits until the processes have deleted the bytes of all deleted files. */
  const untilDeleted = () =>
    eventually(
      () => app.sql('SELECT FROM blob_deletions WHERE due_at <= now()'),
      ({ length }) => length === 0,
    );

  it('serve others while one person sends thirty large files slowly, and hold only parts of them', async () => {
    const [bob, carl] = [await aPerson(app), await aPerson(app)];
    const dora = await aPerson(app, { is_staff: true });
    const issue = await createIssue(bob);
    const query = `&issue=${issue.id}`;
    const refused: UploadAnswer[] = [];
    const hold = (person: TestPerson, place: number, bytes: Uint8Array) => {
      const upload = holdUpload(person, instance(place), bytes, query);
      void upload.answer.then((answer) => {
        if (answer.status === 201) return;
        refused.push(answer);
        upload.destroy();
      });
      return upload;
    };
    const untilUploading = ({ id }: TestPerson, count: number) =>
      eventually(
        () => app.sql(`SELECT FROM attachments WHERE uploader_id = $1 AND state = 'uploading'`, [id]),
        ({ length }) => length === count,
      );
    const large = randomBytes(attachmentBytesMax);
    const before = processes.map(startPeak);
    const held = Array.from({ length: 30 }, (_, place) => hold(ann, place, large));
    // Three in each process have begun.
    await untilUploading(ann, 6);
    const files = await Promise.all(
      [0, 1].flatMap((place) =>
        [bob, carl].map((person) => uploadFile(on(person, place), randomBytes(300_000), 'a', query)),
      ),
    );
    for (const place of [0, 1]) {
      for (const file of files) await readFileOf(on(dora, place), file).expect(200);
      await on(dora, place).get('/api/v1/issues/?limit=50').expect(200);
      await createIssue(on(carl, place));
    }
    // With five of others, a process has eight.
    const medium = randomBytes(1_000_000);
    const others = [bob, bob, bob, carl, carl].flatMap((person) =>
      [0, 1].map((place) => hold(person, place, medium)),
    );
    await untilUploading(bob, 6);
    await untilUploading(carl, 4);
    for (const place of [0, 1]) hold(dora, place, medium);
    await eventually(
      () => refused,
      ({ length }) => length === 24 + 2,
    );
    expect(refused.map(({ status, headers, body }) => [status, headers['retry-after'], body.code])).toEqual(
      Array(26).fill([429, '5', 'too_many_uploads']),
    );
    for (const place of [0, 1]) {
      await on(dora, place).get(issuePath(issue)).expect(200);
      await createIssue(on(dora, place));
    }
    await untilUploading(ann, 6);
    const growth = processes.map((one, place) => peakOf(one) - (before[place] ?? 0));
    // Fifteen files that a process held would be 375 MiB.
    expect(growth.filter((mebibytes) => mebibytes > 125)).toEqual([]);
    const ended = await Promise.all([...held, ...others].map((one) => one.end()));
    const stored = ended.flatMap(({ status, body }) => (status === 201 ? [body] : []));
    expect(stored).toHaveLength(16);
    for (const file of stored.slice(0, 2))
      expect((await readFileOf(ann, file).expect(200)).body.equals(large)).toBe(true);
    files.push(await uploadFile(on(dora, 0), medium, 'a', query));
    for (const file of [...files, ...stored]) await dora.delete(filePath(file)).expect(204);
    await untilDeleted();
  }, 120_000);

  it('read each file while it is moved, in both directions, beside uploads and deletions', async () => {
    const bob = await aPerson(app);
    const issue = await createIssue(bob);
    const sizes = [0, 1, 100_000, 262_145, 900_000];
    /** The bytes of each file, and the files that are or will be deleted. */
    const contents = new Map<string, Buffer>();
    const gone = new Set<string>();
    const upload = async (person: TestPerson, place: number, query = '') => {
      const bytes = randomBytes(sizes[contents.size % sizes.length] ?? 0);
      const file = await uploadFile(on(person, place), bytes, 'a', query);
      contents.set(file.id, bytes);
      return file;
    };
    const read = async (id: string, place: number) => {
      const answer = await readFileOf(on(bob, place), { id }).catch(() => undefined);
      if (!gone.has(id))
        expect([id, answer?.status, answer?.body.equals(contents.get(id))]).toEqual([id, 200, true]);
    };
    const kept: Attachment[] = [];
    for (let place = 0; place < 20; place += 1) kept.push(await upload(bob, place, `&issue=${issue.id}`));
    let isMoving = true;
    const load = async (place: number) => {
      for (let turn = 0; isMoving || turn === 0; turn += 1) {
        const [first, second] = [await upload(bob, place), await upload(bob, place)];
        for (const file of [first, kept[turn % kept.length] ?? first]) await read(file.id, place + 1);
        gone.add(first.id);
        await on(bob, place + 1)
          .delete(filePath(first))
          .expect(204);
        // So that the quota of a person is not reached.
        if (turn % 20 !== 0) {
          gone.add(second.id);
          await on(bob, place).delete(filePath(second)).expect(204);
        }
      }
    };
    const loads = [0, 1].map(load);
    const outputs: Awaited<ReturnType<typeof move>>[] = [];
    for (const store of ['s3', 'database']) outputs.push(await move('--to', store));
    isMoving = false;
    await Promise.all(loads);
    outputs.push(await move('--to', 's3'));
    expect(outputs.map(({ code }) => code)).toEqual([0, 0, 0]);
    const moved = outputs.map(({ output }) =>
      Number(/^issues: (\d+) files moved to \w+\n$/.exec(output)?.[1]),
    );
    // Half of the files that stay were in the database.
    expect(moved.map((count, turn) => count >= (turn === 0 ? 10 : 20))).toEqual([true, true, true]);
    expect(await app.sql(`SELECT FROM attachments WHERE state = 'stored' AND store = 'database'`)).toEqual(
      [],
    );
    await dueNow();
    await untilDeleted();
    expect(await app.sql('SELECT FROM attachment_chunks')).toEqual([]);
    for (const id of contents.keys())
      for (const place of [0, 1])
        if (gone.has(id))
          expectProblem(await on(bob, place).get(filePath({ id }, 'content/')), 404, 'attachment_not_found');
        else await read(id, place);
    for (const id of contents.keys()) if (!gone.has(id)) await bob.delete(filePath({ id })).expect(204);
    await untilDeleted();
    expect(await s3.keys()).toEqual([]);
  }, 120_000);
});

describe('attachments:move', () => {
  it('does not count a file that is deleted, with its bytes, while it is copied', async () => {
    const file = await uploadFile(ann, randomBytes(1_000));
    const stores = createStores(loadConfig(environmentOf(app)).attachments, app.database);
    const bucket = storeOf(stores, 's3');
    const { moved, failed } = await new AttachmentMove({
      repository: new AttachmentMoveRepository(app.database),
      stores,
    }).run({
      name: 's3',
      write: async (...call) => {
        await ann.delete(filePath(file)).expect(204);
        await dueNow();
        await cleanUp();
        await bucket.write(...call);
      },
      read: (...call) => bucket.read(...call),
      delete: (key) => bucket.delete(key),
      check: () => bucket.check(),
    });
    expect([moved, failed]).toEqual([0, []]);
  });

  it('leaves a file whose bytes are not those of its hash, and says so', async () => {
    const file = await uploadFile(ann, randomBytes(1_000));
    await app.sql(`UPDATE attachment_chunks SET bytes = set_byte(bytes, 0, (get_byte(bytes, 0) + 1) % 256)`);
    const { code, output } = await move('--to', 's3');
    expect([code, output]).toEqual([1, expect.stringContaining(`not moved: ${file.id}`)]);
    expect((await app.sql('SELECT store FROM attachments WHERE id = $1', [file.id]))[0]?.store).toBe(
      'database',
    );
    await ann.delete(filePath(file)).expect(204);
    expect(await move('--to', 'nowhere')).toMatchObject({ code: 2 });
    expect(await move('--help')).toMatchObject({ code: 0, output: expect.stringContaining('Usage:') });
  });
});

describe('the header of a picture', () => {
  const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const text = (value: string) => [...Buffer.from(value, 'latin1')];
  const box = (type: string, ...parts: number[][]) => {
    const body = parts.flat();
    return [...u32(body.length + 8), ...text(type), ...body];
  };
  const u16 = (value: number) => [value & 255, value >>> 8];
  /** A GIF with a comment before its frame. */
  const gif = (width: number, height: number, screen = [width, height]) =>
    Buffer.from([
      ...[...text('GIF89a'), ...screen.flatMap(u16), 0x80, 0, 0, 0, 0, 0, 0, 0, 0],
      ...[0x21, 0xfe, 2, 0x2c, 0x2c, 0, 0x2c, 0, 0, 0, 0, ...u16(width), ...u16(height), 0],
    ]);
  const jpeg = (...before: number[]) =>
    Buffer.from([0xff, 0xd8, ...before, 0xff, 0xc2, 0, 17, 8, 0, 200, 1, 44, 3, 0]);
  const png = (width: number, height: number) =>
    Buffer.from([...text('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), ...u32(width), ...u32(height), 8, 2]);
  const pictures = {
    'image/png': png(300, 200),
    'image/gif': gif(300, 200),
    'image/jpeg': jpeg(0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc4, 0, 3, 0),
    'image/webp': Buffer.from([
      ...text('RIFF\0\0\0\0WEBPVP8X'),
      10,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      43,
      1,
      0,
      199,
      0,
      0,
    ]),
    'image/avif': Buffer.from([
      ...box('ftyp', text('avif\0\0\0\0')),
      ...box(
        'meta',
        u32(0),
        box(
          'iprp',
          box('ipco', box('ispe', u32(0), u32(30), u32(20)), box('ispe', u32(0), u32(300), u32(200))),
        ),
      ),
    ]),
  };
  const lossless = Buffer.from([
    ...text('RIFF\0\0\0\0WEBPVP8L'),
    0,
    0,
    0,
    0,
    0x2f,
    43,
    193,
    49,
    0,
    0,
    0,
    0,
    0,
    0,
  ]);
  const lossy = Buffer.from([
    ...text('RIFF\0\0\0\0WEBPVP8 '),
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0x9d,
    1,
    0x2a,
    44,
    1,
    200,
    0,
  ]);

  it('tells the type and the size of each format', () => {
    for (const [mediaType, bytes] of Object.entries(pictures))
      expect([mediaType, readPicture(bytes)]).toEqual([mediaType, { mediaType, width: 300, height: 200 }]);
    for (const bytes of [lossless, lossy])
      expect(readPicture(bytes)).toEqual({ mediaType: 'image/webp', width: 300, height: 200 });
  });

  it('takes none that has no size, a side over 12,000 pixels or more than 40 megapixels, and nothing else', () => {
    for (const [width, height] of [
      [0, 5],
      [5, 0],
      [12_001, 1],
      [1, 12_001],
      [8_000, 5_001],
    ] as const)
      expect([width, height, readPicture(png(width, height))]).toEqual([width, height, undefined]);
    expect(readPicture(png(12_000, 3_333))).toMatchObject({ width: 12_000 });
    // Browsers enlarge the screen of a GIF, and skip a marker without a length in a JPEG.
    expect(readPicture(gif(9_000, 5_000, [1, 1]))).toBeUndefined();
    expect(readPicture(gif(300, 200, [1, 1]))).toMatchObject({ width: 300, height: 200 });
    expect(readPicture(gif(300, 200).subarray(0, 30))).toBeUndefined();
    const hidden = [0xff, 0xe1, 0, 8, 0xff, 0xc0, 0, 4, 9, 9];
    for (const marker of [0x01, 0xd0, 0xd7])
      expect(readPicture(jpeg(0xff, marker, ...hidden))).toMatchObject({ width: 300, height: 200 });
    for (const before of [
      [0xff, 0xd8],
      [0xff, 0x02, 0, 4, 0, 0],
      [0xff, 0xe0, 0, 0],
      [0xff, 0xda, 0, 4, 0, 0],
    ])
      expect(readPicture(jpeg(...before))).toBeUndefined();
    for (const other of [
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '<html>',
      '%PDF-1.7',
      'BM',
      '',
      'GIF89',
    ])
      expect(readPicture(Buffer.from(other))).toBeUndefined();
  });

  it('never throws, loops or reads far, with any bytes', () => {
    const valid = [...Object.values(pictures), lossless, lossy];
    const broken = fc
      .tuple(
        fc.constantFrom(...valid),
        fc.array(fc.tuple(fc.nat(70), fc.nat(255)), { maxLength: 8 }),
        fc.nat(80),
        fc.uint8Array({ maxLength: 200 }),
      )
      .map(([bytes, changes, length, more]) => {
        const copy = Buffer.concat([bytes.subarray(0, length), more]);
        for (const [place, value] of changes) if (place < copy.length) copy[place] = value;
        return copy;
      });
    fc.assert(
      fc.property(broken, (bytes) => {
        const picture = readPicture(bytes);
        if (picture === undefined) return;
        expect(picture.width * picture.height).toBeLessThanOrEqual(40_000_000);
        expect(Math.min(picture.width, picture.height)).toBeGreaterThan(0);
      }),
      { numRuns: 2_000, seed: 39 },
    );
    // A megabyte of boxes, and of segments without a frame.
    const boxes = Buffer.concat([
      pictures['image/avif'].subarray(0, 16),
      ...Array(100_000).fill(Buffer.from(box('free'))),
    ]);
    const segments = Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      ...Array(250_000).fill(Buffer.from([0xff, 0xe0, 0, 2])),
    ]);
    for (const bytes of [boxes, segments]) expect(readPicture(bytes)).toBeUndefined();
  });
});

describe('an upload that was paused for an hour', () => {
  it('has no effect, because its bytes may be deleted', async () => {
    const { repository } = app.dependencies.blobs.attachments;
    const started = await repository.start(
      { name: 'a', size: 5, uploaderId: ann.id, isForIssue: false },
      'database',
    );
    await dueNow();
    await cleanUp();
    const contents = { sha256: randomBytes(32), mediaType: 'image/png', width: null, height: null };
    expect(await repository.finish(started, contents)).toBe(false);
    await repository.abandon(started);
    const issue = await createIssue(ann);
    const added = await ann
      .post(issuePath(issue, 'comments/'), { body: `attachment:${started.id}` })
      .expect(201);
    expect(added.body.attachments).toEqual([]);
  });
});

/** Forgets the peak of the memory of a process so far, and returns what it has now, in MiB. */
function startPeak({ pid }: IssuesService): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return peakOf({ pid });
}

function peakOf({ pid }: Pick<IssuesService, 'pid'>): number {
  return Math.round(
    Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
  );
}
