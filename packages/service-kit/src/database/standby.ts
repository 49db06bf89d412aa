import type pg from 'pg';

/** A connection leads to a standby, as during a failover, while the address of the database is wrong. */
export class StandbyError extends Error {
  override readonly name = 'StandbyError';
  /** As of a statement that writes: read_only_sql_transaction. */
  readonly code = '25006';

  constructor() {
    super('read-only: the server is a standby');
  }
}

/** Throws for a connection to a standby. */
export async function assertPrimary(client: Pick<pg.ClientBase, 'query'> | pg.Pool): Promise<void> {
  const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
  if (rows[0]?.isStandby !== false) throw new StandbyError();
}

/**
 * The functions of PostgreSQL that refuse a statement on a standby with the SQL state of other errors, too: they open an
 * unlogged table (0A000), and return the place in the WAL (55000).
 */
const refusingRoutines = ['get_relation_info', 'pg_current_wal_insert_lsn', 'pg_walfile_name'];

/** Whether a server that can only read has refused a statement. */
export function isRefusedAsReadOnly({ code, routine }: { code?: unknown; routine?: unknown }): boolean {
  if (code === '25006') return true;
  return (code === '0A000' || code === '55000') && refusingRoutines.includes(String(routine));
}

/**
 * Notices the connections of a pool whose server refuses to write, although it is no standby at the start of the connection:
 * a pooler moves connections, and an operator can make a server read-only. Returns whether a connection is one of them.
 */
export function noticeReadOnly(pool: pg.Pool): (client: pg.PoolClient) => boolean {
  const refused = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', (error: { code?: string; routine?: string }) => {
      if (isRefusedAsReadOnly(error)) refused.add(client);
    });
  });
  return (client) => refused.has(client);
}

/** The timeline of the server: a standby that takes over begins a new one. An expression of SQL; it fails on a standby. */
export const timeline =
  "('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint::int";
