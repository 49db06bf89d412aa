import pg from 'pg';

const { escapeIdentifier } = pg;

export type TableRight = 'INSERT' | 'UPDATE' | 'DELETE';

/** Tables whose rows the service may only partly change, with the permitted statements besides SELECT. */
export type TableRights = Readonly<Record<string, readonly TableRight[]>>;

/** The role that a service connects as; another role migrates and owns the tables. */
export interface ServiceRole {
  name: string;
  tableRights: TableRights;
}

/**
 * Grants the role the rights that a service needs in the `public` schema, on rows, sequences and functions, and revokes
 * all others. Runs in one transaction, so a running service never lacks a right; can be repeated. Default privileges
 * cover the tables that the migrating role creates later.
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

// Grants do not restrict the owner, its members and superusers.
async function assertLesser(client: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ unlimited: boolean }>(
    "SELECT pg_has_role($1, current_user, 'MEMBER') AS unlimited",
    [role],
  );
  if (rows[0]?.unlimited !== false) {
    throw new Error(
      `the role ${role} has all rights of the role that migrates; use a role with fewer rights`,
    );
  }
}
