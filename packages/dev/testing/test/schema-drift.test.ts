import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestPostgres, withDatabase } from '@tessera/stack/postgres';
import pg from 'pg';
import { findSchemaDrift } from '../src/schema-drift.ts';

let postgres: Awaited<ReturnType<typeof startTestPostgres>>;
let prismaDir: string;
let databases = 0;

beforeAll(async () => {
  postgres = await startTestPostgres();
}, 300_000);
afterAll(() => postgres.stop());

beforeEach(() => {
  prismaDir = mkdtempSync(join(tmpdir(), 'schema-drift-'));
});
afterEach(() => rmSync(prismaDir, { recursive: true }));

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function createDatabase(): Promise<string> {
  databases += 1;
  await run(postgres.adminUrl, `CREATE DATABASE drift_${databases}`);
  return withDatabase(postgres.adminUrl, `drift_${databases}`);
}

describe('findSchemaDrift', () => {
  const models = `
    enum Status {
      OPEN
      CLOSED
    }
    model Author {
      id     Int     @id
      things Thing[]
    }
    model Thing {
      id       Int      @id
      title    String   @db.VarChar(100)
      status   Status   @default(OPEN)
      authorId Int      @map("author_id")
      madeAt   DateTime @default(now()) @map("made_at") @db.Timestamptz(3)
      author   Author   @relation(fields: [authorId], references: [id])

      @@index([title])
    }`;
  const script = `
    CREATE TYPE "Status" AS ENUM ('OPEN', 'CLOSED');
    CREATE TABLE "Author" ("id" int NOT NULL, CONSTRAINT "Author_pkey" PRIMARY KEY ("id"));
    CREATE TABLE "Thing" (
      "id" int NOT NULL,
      "title" varchar(100) NOT NULL,
      "status" "Status" NOT NULL DEFAULT 'OPEN',
      "author_id" int NOT NULL,
      "made_at" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
      CONSTRAINT "Thing_pkey" PRIMARY KEY ("id")
    );
    CREATE INDEX "Thing_title_idx" ON "Thing" ("title");
    ALTER TABLE "Thing" ADD CONSTRAINT "Thing_author_id_fkey" FOREIGN KEY ("author_id") REFERENCES "Author" ("id")
      ON DELETE RESTRICT ON UPDATE CASCADE;
    ALTER TABLE "Thing" ADD CONSTRAINT "title_check" CHECK (title <> '');`;

  async function driftAfter(change: string): Promise<string[]> {
    const schema = `datasource db {\n  provider = "postgresql"\n}\n${models}`;
    writeFileSync(join(prismaDir, 'schema.prisma'), schema);
    const migratedUrl = await createDatabase();
    await run(migratedUrl, script + change);
    return findSchemaDrift({ migratedUrl, emptyUrl: await createDatabase(), prismaDir });
  }

  it('finds nothing when migrations and schema agree; the schema cannot express checks', async () => {
    expect(await driftAfter('')).toEqual([]);
  });

  it.each([
    [
      'a missing column',
      'ALTER TABLE "Thing" DROP COLUMN made_at;',
      [/^only schema\.prisma says: column .*made_at/],
    ],
    [
      'a further column',
      'ALTER TABLE "Thing" ADD COLUMN extra text;',
      [/^only the migrations make: column .*extra/],
    ],
    [
      'another type',
      'ALTER TABLE "Thing" ALTER COLUMN title TYPE varchar(50);',
      [/^only the migrations make: column .*varying\(50\)/, /^only schema\.prisma says: column .*\(100\)/],
    ],
    [
      'another default',
      'ALTER TABLE "Thing" ALTER COLUMN status DROP DEFAULT;',
      [/^only the migrations make: column .*status/, /^only schema\.prisma says: column .*status/],
    ],
    [
      'a missing index',
      'DROP INDEX "Thing_title_idx";',
      [/^only schema\.prisma says: .*INDEX.*Thing_title_idx/],
    ],
    [
      'a missing foreign key',
      'ALTER TABLE "Thing" DROP CONSTRAINT "Thing_author_id_fkey";',
      [/^only schema\.prisma says: foreign key "Thing" .*author_id/],
    ],
    [
      'a further value of an enum',
      `ALTER TYPE "Status" ADD VALUE 'LOST';`,
      [/^only the migrations make: enum .*LOST/, /^only schema\.prisma says: enum /],
    ],
  ])('finds %s', async (_what, change, expected) => {
    expect(await driftAfter(change)).toEqual(expected.map((line) => expect.stringMatching(line)));
  });
});
