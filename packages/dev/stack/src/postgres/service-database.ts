import pg from 'pg';
import { sqlState, withConnection } from './connection.ts';

const { escapeIdentifier, escapeLiteral } = pg;

// duplicate_object, duplicate_database, and unique_violation when two create the same at the same moment.
const ALREADY_THERE = new Set(['42710', '42P04', '23505']);

export interface DatabaseRole {
  readonly role: string;
  readonly password: string;
}

export interface ServiceDatabase extends DatabaseRole {
  readonly database: string;
  /** The role that owns the database and migrates it. Default: the service's own. */
  readonly owner?: DatabaseRole;
}

/**
 * One database, the role that owns it, and the role of its service; these alone may connect to it. Safe to repeat:
 * passwords are set anew, and what the service's role owned when it was the only one becomes the owner's.
 * @param adminUrl a superuser's URL
 * @returns the service's URL of its database; {@link withRole} makes the owner's of it
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
 * A fresh copy of a database, faster than migrating a new one.
 * @param template must have no open connection
 * @param owner the role that owns the copy
 * @param role of the service, where that is another; no other role may connect to the copy
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
    await client.query(
      `CREATE DATABASE ${copy} TEMPLATE ${escapeIdentifier(template)} OWNER ${escapeIdentifier(owner)}`,
    );
    // A template's rights are not copied with it.
    await client.query(`REVOKE ALL ON DATABASE ${copy} FROM PUBLIC`);
    await client.query(`GRANT CONNECT ON DATABASE ${copy} TO ${escapeIdentifier(role)}`);
  });
}

/** Drops a database, ending whatever is still connected to it. Nothing happens when there is none. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withConnection(adminUrl, (client) =>
    client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`),
  );
}

/** The same server, role and options, but another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.href;
}

/** The same server and database, but another role. */
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
