import pg from 'pg';
import { sqlState, withConnection } from './connection.ts';

const { escapeIdentifier, escapeLiteral } = pg;

// duplicate_object, duplicate_database, and unique_violation when two create the same at the same moment.
const ALREADY_THERE = new Set(['42710', '42P04', '23505']);

export interface ServiceDatabase {
  readonly database: string;
  readonly role: string;
  readonly password: string;
}

/**
 * One database and the one role that owns it and that alone may connect to it. Safe to repeat: the password is set anew.
 * @param adminUrl a superuser's URL
 * @returns the role's URL of its database
 */
export async function createServiceDatabase(adminUrl: string, wanted: ServiceDatabase): Promise<string> {
  const role = escapeIdentifier(wanted.role);
  const database = escapeIdentifier(wanted.database);
  await withConnection(adminUrl, async (client) => {
    await createIfMissing(client, `CREATE ROLE ${role}`);
    const rights = 'LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION';
    await client.query(`ALTER ROLE ${role} WITH ${rights} PASSWORD ${escapeLiteral(wanted.password)}`);
    await createIfMissing(client, `CREATE DATABASE ${database} OWNER ${role}`);
    await client.query(`ALTER DATABASE ${database} OWNER TO ${role}`);
    await client.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`);
  });
  const url = new URL(withDatabase(adminUrl, wanted.database));
  url.username = encodeURIComponent(wanted.role);
  url.password = encodeURIComponent(wanted.password);
  return url.href;
}

/**
 * A fresh copy of a database, faster than migrating a new one.
 * @param template must have no open connection
 * @param owner the role that alone may connect to the copy
 */
export async function cloneDatabase(
  adminUrl: string,
  template: string,
  name: string,
  owner: string,
): Promise<void> {
  const copy = escapeIdentifier(name);
  await withConnection(adminUrl, async (client) => {
    await client.query(
      `CREATE DATABASE ${copy} TEMPLATE ${escapeIdentifier(template)} OWNER ${escapeIdentifier(owner)}`,
    );
    // A template's rights are not copied with it.
    await client.query(`REVOKE ALL ON DATABASE ${copy} FROM PUBLIC`);
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

async function createIfMissing(client: pg.Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    if (!ALREADY_THERE.has(sqlState(error) ?? '')) throw error;
  }
}
