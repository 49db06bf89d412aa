import type { Database } from '../database.ts';

/** Returns those of the given identities that are not active in the mirror. */
export async function findInactive(database: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await database.$queryRaw<{ id: string }[]>`
    SELECT id FROM identity_mirror WHERE id = ANY(${ids}::uuid[]) AND NOT is_active`;
  return rows.map(({ id }) => id);
}
