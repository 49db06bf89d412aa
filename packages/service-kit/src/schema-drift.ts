import pg from 'pg';
import { readSchema } from './migrate.ts';
import { withSchemaEngine } from './schema-engine.ts';

interface DriftOptions {
  /** A database that the migrations have made. */
  migratedUrl: string;
  /** An empty database, which is filled from `schema.prisma`. */
  emptyUrl: string;
  prismaDir: string;
}

// Everything that Prisma's schema language can say: columns with type, nullability and default; indexes with their
// predicates; foreign keys. Checks and triggers stand in the migrations alone.
const describeSchema = `
  SELECT format('column %s.%s %s null=%s default=%s', table_name, column_name,
    udt_name || coalesce('(' || datetime_precision || ')', ''), is_nullable, column_default) AS line
    FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '_prisma_migrations'
     AND is_generated = 'NEVER'
  UNION ALL
  SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'
  UNION ALL
  SELECT format('foreign key %s %s', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`;

/** Compares what the migrations make with what `schema.prisma` says; answers one line a difference. */
export async function findSchemaDrift({ migratedUrl, emptyUrl, prismaDir }: DriftOptions): Promise<string[]> {
  const schema = readSchema(prismaDir);
  const script = await withSchemaEngine(emptyUrl, schema, async (engine) => {
    const { stdout } = await engine.diff({
      from: { tag: 'empty' },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    return stdout ?? '';
  });
  const [fromMigrations, fromSchema] = await Promise.all([
    linesOf(migratedUrl, ''),
    linesOf(emptyUrl, script),
  ]);
  return [
    ...onlyIn(fromMigrations, fromSchema, 'only the migrations make: '),
    ...onlyIn(fromSchema, fromMigrations, 'only schema.prisma says: '),
  ];
}

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
