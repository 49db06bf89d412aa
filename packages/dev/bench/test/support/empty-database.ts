import { randomBytes } from 'node:crypto';
import { createServiceDatabase } from '@tessera/stack/postgres';

/** A new database without a table, and the URL of the role that owns it. */
export function emptyDatabase(adminUrl: string): Promise<string> {
  const name = `peer_${randomBytes(6).toString('hex')}`;
  return createServiceDatabase(adminUrl, { database: name, role: name, password: name });
}
