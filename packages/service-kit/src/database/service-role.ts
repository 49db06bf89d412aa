import pg from 'pg';

const { escapeIdentifier } = pg;

export type TableRight = 'INSERT' | 'UPDATE' | 'DELETE';

/** The tables of which a service may not do everything to rows, with what it may do beside reading. */
export type TableRights = Readonly<Record<string, readonly TableRight[]>>;

/** The role that a service runs under, which is not the one that migrates and owns everything. */
export interface ServiceRole {
  name: string;
  tableRights: TableRights;
}

/**
 * Gives the role what a service needs of this database's `public` schema, and takes away whatever else it had there: rows
 * of tables, sequences, functions, never a definition. In one transaction, so that a service that runs notices nothing;
 * safe to repeat. Tables that the migrating role makes later, by whatever tool, can be used at once.
 * @param client connected as the role that owns the tables
 */
export async function grantToServiceRole(client: pg.ClientBase, role: ServiceRole): Promise<void> {
  await assertLesser(client, role.name);
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  const name = escapeIdentifier(role.name);
  const fewer: TableRights = { _prisma_migrations: [], ...role.tableRights };
  const exceptions = Object.entries(fewer).map(([table, rights]) => {
    const qualified = `public.${escapeIdentifier(table)}`;
    return `REVOKE ALL ON ${qualified} FROM ${name};
    GRANT ${['SELECT', ...rights].join(', ')} ON ${qualified} TO ${name};`;
  });
  await client.query(`
    BEGIN;
    GRANT CONNECT ON DATABASE ${escapeIdentifier(rows[0]?.name ?? '')} TO ${name};
    GRANT USAGE ON SCHEMA public TO ${name};
    REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${name};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name};
    ${exceptions.join('\n    ')}
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${name};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${name};
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${name};
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${name};
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO ${name};
    COMMIT`);
}

// To the owner itself, to one of its members and to a superuser, no limit applies.
async function assertLesser(client: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ unlimited: boolean }>(
    "SELECT pg_has_role($1, current_user, 'MEMBER') AS unlimited",
    [role],
  );
  if (rows[0]?.unlimited !== false) {
    throw new Error(
      `the role ${role} has all rights of the one that migrates; a service needs one with fewer`,
    );
  }
}
