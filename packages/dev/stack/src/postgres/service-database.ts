import pg from 'pg';
import { sqlState, withConnection } from './connection.ts';

const { escapeIdentifier, escapeLiteral } = pg;

// duplicate_object, duplicate_database, and unique_violation for two concurrent creations.
const ALREADY_THERE = new Set(['42710', '42P04', '23505']);

export interface DatabaseRole {
  readonly role: string;
  readonly password: string;
}

export interface ServiceDatabase extends DatabaseRole {
  readonly database: string;
  /** The role that owns and migrates the database. Default: the service's role. */
  readonly owner?: DatabaseRole;
}

/**
 * Creates a database, its owner and the role of its service; no other role may connect. Can be repeated: it resets the
 * passwords, and reassigns objects of the service's role to a new owner.
 * @param adminUrl a superuser's URL
 * @returns the service's URL; {@link withRole} changes it to the owner's
 */
export async function createServiceDatabase(adminUrl: string, wanted: ServiceDatabase): Promise<string> {
  const owner = wanted.owner ?? wanted;
  const database = escapeIdentifier(wanted.database);
  const wasOwned = await withConnection(adminUrl, async (client) => {
    for (const one of new Set([wanted, owner])) await createRole(client, one);
    await createIfMissing(client, `CREATE DATABASE ${database} OWNER ${escapeIdentifier(owner.role)}`);
    const { rows } = await client.query<{ owner: string }>(
      'SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1',
      [wanted.database],
    );
    await client.query(`ALTER DATABASE ${database} OWNER TO ${escapeIdentifier(owner.role)}`);
    await client.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`);
    await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${escapeIdentifier(wanted.role)}`);
    return rows[0]?.owner === wanted.role && owner.role !== wanted.role;
  });
  const url = withDatabase(adminUrl, wanted.database);
  if (wasOwned) await handOver(url, wanted.role, owner.role);
  return withRole(url, wanted);
}

async function createRole(client: pg.Client, { role, password }: DatabaseRole): Promise<void> {
  const name = escapeIdentifier(role);
  await createIfMissing(client, `CREATE ROLE ${name}`);
  const rights = 'LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION';
  await client.query(`ALTER ROLE ${name} WITH ${rights} PASSWORD ${escapeLiteral(password)}`);
}

async function handOver(url: string, from: string, to: string): Promise<void> {
  await withConnection(url, (client) =>
    client.query(`REASSIGN OWNED BY ${escapeIdentifier(from)} TO ${escapeIdentifier(to)}`),
  );
}

/**
 * Copies a database, which is faster than migrating a new one.
 * @param template a database without open connections
 * @param owner the role that owns the copy
 * @param role the service's role, if different; no other role may connect
 */
export async function cloneDatabase(
  adminUrl: string,
  template: string,
  name: string,
  owner: string,
  role: string = owner,
): Promise<void> {
  const copy = escapeIdentifier(name);
  await withConnection(adminUrl, async (client) => {
    // The default strategy writes each page to the WAL, which takes eight times as long for a database without rows.
    const from = `TEMPLATE ${escapeIdentifier(template)} STRATEGY FILE_COPY`;
    await client.query(`CREATE DATABASE ${copy} ${from} OWNER ${escapeIdentifier(owner)}`);
    // CREATE DATABASE does not copy the template's privileges.
    await client.query(`REVOKE ALL ON DATABASE ${copy} FROM PUBLIC`);
    await client.query(`GRANT CONNECT ON DATABASE ${copy} TO ${escapeIdentifier(role)}`);
  });
}

/** Drops a database and ends its connections. Does nothing if it does not exist. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withConnection(adminUrl, (client) =>
    client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`),
  );
}

/** Returns the URL with another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.href;
}

/** Returns the URL with another role. */
export function withRole(url: string, { role, password }: DatabaseRole): string {
  const changed = new URL(url);
  changed.username = encodeURIComponent(role);
  changed.password = encodeURIComponent(password);
  return changed.href;
}

async function createIfMissing(client: pg.Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    if (!ALREADY_THERE.has(sqlState(error) ?? '')) throw error;
  }
}
