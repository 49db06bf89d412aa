import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { scriptOf } from './schema-engine.ts';

interface DriftOptions {
  /** A database with all migrations applied. */
  migratedUrl: string;
  /** An empty database; it gets the tables of `schema.prisma`. */
  emptyUrl: string;
  prismaDir: string;
}

// Everything that `schema.prisma` can express: columns with type, nullability and default; enums with their values;
// indexes with their predicates; foreign keys. It cannot express checks and triggers.
const describeSchema = `
  SELECT format('column %s.%s %s%s default=%s', attrelid::regclass, attname, format_type(atttypid, atttypmod),
    CASE WHEN attnotnull THEN ' not null' END, pg_get_expr(adbin, adrelid)) AS line
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
   WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> '_prisma_migrations'
     AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
  UNION ALL
  SELECT format('enum %s %s', enumtypid::regtype, string_agg(enumlabel, ', ' ORDER BY enumsortorder))
    FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid
   WHERE typnamespace = 'public'::regnamespace GROUP BY enumtypid
  UNION ALL
  SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'
  UNION ALL
  SELECT format('foreign key %s %s', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`;

/** Compares a migrated database with `schema.prisma`; returns one line for each difference. */
export async function findSchemaDrift({ migratedUrl, emptyUrl, prismaDir }: DriftOptions): Promise<string[]> {
  const path = join(prismaDir, 'schema.prisma');
  const script = await scriptOf({ path, content: readFileSync(path, 'utf8') }, emptyUrl);
  const [fromMigrations, fromSchema] = await Promise.all([
    linesOf(migratedUrl, ''),
    linesOf(emptyUrl, script),
  ]);
  return [
    ...onlyIn(fromMigrations, fromSchema, 'only the migrations make: '),
    ...onlyIn(fromSchema, fromMigrations, 'only schema.prisma says: '),
  ];
}

// Prisma has no default that a sequence is a part of.
const idOfEvents = (value: string) => `column events.id bigint not null default=${value}`;

/** The differences of the ids of events, which both services have. */
export const eventIdDrift = {
  schema: `only schema.prisma says: ${idOfEvents("nextval('events_id_seq'::regclass)")}`,
  migrations: `only the migrations make: ${idOfEvents(
    "(nextval('events_id_seq'::regclass) + ((((('x'::text || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)))::bit(32))::bigint - 1) << 30))",
  )}`,
};

function onlyIn(these: readonly string[], others: readonly string[], prefix: string): string[] {
  const known = new Set(others);
  return these.filter((line) => !known.has(line)).map((line) => prefix + line);
}

async function linesOf(connectionString: string, script: string): Promise<string[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(script);
    const { rows } = await client.query<{ line: string }>(describeSchema);
    return rows.map((row) => row.line);
  } finally {
    await client.end();
  }
}
