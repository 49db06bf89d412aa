import { v4 as uuidv4 } from 'uuid';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { chargeOf } from '../issue-store/attachment.sql.ts';
import { chargeStore } from './attachment.repository.ts';
import type { StoreName } from './blob-store.ts';

/** A file whose bytes are in another store. */
export interface MovedFile {
  id: string;
  key: string;
  store: StoreName;
  size: number;
  sha256: Uint8Array;
}

/** The rows of files that move to another store. */
export class AttachmentMoveRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The next file of another store, in the order of the ids. */
  async next(target: StoreName, after: string): Promise<MovedFile | undefined> {
    const [file] = await this.#database.$queryRaw<MovedFile[]>`
      SELECT id, key, store, size, sha256 FROM attachments
       WHERE state = 'stored' AND store <> ${target} AND id > ${after}::uuid ORDER BY id LIMIT 1`;
    return file;
  }

  /** Whether a file is still where it was. */
  async isPresent({ id, key }: MovedFile): Promise<boolean> {
    const found = await this.#database.$queryRaw<unknown[]>`
      SELECT FROM attachments WHERE id = ${id}::uuid AND key = ${key}::uuid AND state = 'stored'`;
    return found.length === 1;
  }

  /** Returns a new key, which is among those without a file until the file has it. */
  async start({ size }: MovedFile, target: StoreName): Promise<string> {
    const key = uuidv4();
    const charge = chargeOf(Prisma.sql`${size}::int`);
    await this.#database.$transaction(async (transaction) => {
      await chargeStore(transaction, target, charge);
      await transaction.$executeRaw`
        INSERT INTO blob_deletions (key, store, charge, due_at)
        VALUES (${key}::uuid, ${target}, ${charge}, now() + interval '1 hour')`;
    });
    return key;
  }

  /** Gives the file its new key. False if it is deleted meanwhile. A download may still read the former bytes. */
  async switch({ id, key: former, store }: MovedFile, key: string, target: StoreName): Promise<boolean> {
    const switched = await this.#database.$executeRaw`
      WITH present AS (
        SELECT id, size FROM attachments WHERE id = ${id}::uuid AND key = ${former}::uuid AND state = 'stored' FOR UPDATE
      ), kept AS (
        DELETE FROM blob_deletions b USING present WHERE b.key = ${key}::uuid AND b.attempts = 0 RETURNING present.id, present.size
      ), left_behind AS (
        INSERT INTO blob_deletions (key, store, charge, due_at)
        SELECT ${former}::uuid, ${store}, ${chargeOf(Prisma.raw('size'))}, now() + interval '1 hour' FROM kept
      )
      UPDATE attachments a SET key = ${key}::uuid, store = ${target} FROM kept WHERE a.id = kept.id`;
    return switched === 1;
  }

  /** Ends a move: without an effect after a switch. A store may carry out a request after it has seemed to fail. */
  async end(key: string): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE blob_deletions SET due_at = least(due_at, now() + interval '10 minutes')
       WHERE key = ${key}::uuid AND attempts = 0`;
  }
}
