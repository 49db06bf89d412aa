import { createHash } from 'node:crypto';
import { v4 as uuidv4 } from 'uuid';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { chargeOf } from '../issue-store/attachment.sql.ts';
import { chargeStore } from './attachment.repository.ts';
import { type BlobStore, type BlobStores, type StoreName, storeOf } from './blob-store.ts';

interface AttachmentMoveOptions {
  database: Database;
  stores: BlobStores;
  /** Called after each file that is moved. */
  onMoved?: (moved: number) => void;
}

interface MovedFile {
  id: string;
  key: string;
  store: StoreName;
  size: number;
  sha256: Uint8Array;
}

/**
 * Moves files to another store, one after the other, while the service runs. A file is copied under a new key, which is one of those
 * without a file until the copy is complete and has the hash of the file; then its row is switched, and its former key is deleted
 * later. So an end at any time loses nothing, and the next run goes on.
 */
export class AttachmentMove {
  readonly #options: AttachmentMoveOptions;

  constructor(options: AttachmentMoveOptions) {
    this.#options = options;
  }

  /** Moves all files of the other stores. Returns how many were moved, and the ids of those that were not. */
  async run(target: BlobStore): Promise<{ moved: number; failed: string[] }> {
    let moved = 0;
    const failed: string[] = [];
    for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
      const file = await this.#next(target.name, after);
      if (file === undefined) return { moved, failed };
      after = file.id;
      try {
        if (!(await this.#move(file, target))) continue;
        moved += 1;
        this.#options.onMoved?.(moved);
      } catch (error) {
        failed.push(`${file.id}: ${error instanceof Error ? reasonOf(error) : 'unknown'}`);
      }
    }
  }

  async #next(target: StoreName, after: string): Promise<MovedFile | undefined> {
    const [file] = await this.#options.database.$queryRaw<MovedFile[]>`
      SELECT id, key, store, size, sha256 FROM attachments
       WHERE state = 'stored' AND store <> ${target} AND id > ${after}::uuid ORDER BY id LIMIT 1`;
    return file;
  }

  // False if the file is deleted meanwhile.
  async #move(file: MovedFile, target: BlobStore): Promise<boolean> {
    const { database, stores } = this.#options;
    const key = uuidv4();
    const charge = chargeOf(Prisma.sql`${file.size}::int`);
    await database.$transaction(async (transaction) => {
      await chargeStore(transaction, target.name, charge);
      await transaction.$executeRaw`
        INSERT INTO blob_deletions (key, store, charge, due_at)
        VALUES (${key}::uuid, ${target.name}, ${charge}, now() + interval '1 hour')`;
    });
    try {
      const range = { start: 0, end: file.size };
      await target.write(key, hashed(storeOf(stores, file.store).read(file.key, range), file), file.size);
      await drain(hashed(target.read(key, range), file));
      return await this.#switch(file, key, target.name);
    } finally {
      // Without an effect after a switch, which has deleted the row. A store may carry out a request after it has seemed to fail.
      await database.$executeRaw`
        UPDATE blob_deletions SET due_at = least(due_at, now() + interval '10 minutes') WHERE key = ${key}::uuid AND attempts = 0`;
    }
  }

  async #switch({ id, key: former, store }: MovedFile, key: string, target: StoreName): Promise<boolean> {
    const switched = await this.#options.database.$executeRaw`
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
}

/** Passes bytes on. Throws at the end if they are not those of the file. */
async function* hashed(bytes: AsyncIterable<Uint8Array>, { sha256 }: MovedFile): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const part of bytes) {
    hash.update(part);
    yield part;
  }
  if (!hash.digest().equals(sha256)) throw new Error('the bytes do not have the hash of the file');
}

async function drain(bytes: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of bytes);
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
