/** A digest of each table, by table name. */
export type State = Record<string, string>;

/** Runs a statement and returns its rows. */
export type Sql = (text: string) => Promise<Record<string, unknown>[]>;

/** Digests of all rows of the tables, from one statement; equal if nothing was written. */
export async function digestTables(sql: Sql, tables: readonly string[]): Promise<State> {
  const parts = tables.map(
    (table) =>
      `(SELECT count(*) || ':' || coalesce(sum(hashtextextended(t::text, 0)), 0) FROM "${table}" t) AS "${table}"`,
  );
  const [row = {}] = await sql(`SELECT ${parts.join(', ')}`);
  return Object.fromEntries(Object.entries(row).map(([table, digest]) => [table, String(digest)]));
}
