import type { Database } from '../database.ts';
import { type BlobStore, type ByteRange, storageUnavailable } from './blob-store.ts';

const chunkBytes = 256 * 1024;
// PostgreSQL sends bytes as hexadecimal digits, so half a chunk takes as much memory as a chunk that is written.
const readBytes = 128 * 1024;

/** Bytes in the table `attachment_chunks`, in the backup of everything else. */
export class DatabaseStore implements BlobStore {
  readonly name = 'database';
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async write(key: string, bytes: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    let place = 0;
    let written = 0;
    for await (const chunk of chunksOf(bytes, chunkBytes)) {
      await this.#writeChunk(key, place, chunk);
      place += 1;
      written += chunk.length;
    }
    if (written !== size) throw new Error(`${written} bytes were written instead of ${size}`);
  }

  // The row of the key is locked, so that the worker, which deletes the key after it, sees the chunk.
  async #writeChunk(key: string, place: number, chunk: Uint8Array): Promise<void> {
    const written = await this.#database.$executeRaw`
      INSERT INTO attachment_chunks (key, place, bytes)
      SELECT key, ${place}::int, ${chunk}::bytea FROM blob_deletions
       WHERE key = ${key}::uuid AND attempts = 0 AND due_at > now() FOR SHARE`;
    if (written !== 1) throw storageUnavailable(new Error('the upload took too long'));
  }

  async *read(key: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void> {
    for (let position = start; position < end; ) {
      const offset = position % chunkBytes;
      const length = Math.min(readBytes, chunkBytes - offset, end - position);
      const [row] = await this.#database.$queryRaw<{ bytes: Uint8Array }[]>`
        SELECT substring(bytes FROM ${offset + 1}::int FOR ${length}::int) AS bytes FROM attachment_chunks
         WHERE key = ${key}::uuid AND place = ${Math.floor(position / chunkBytes)}::int`;
      if (row?.bytes.length !== length) throw storageUnavailable(new Error(`bytes of ${key} are missing`));
      yield row.bytes;
      position += length;
    }
  }

  async delete(key: string): Promise<void> {
    await this.#database.$executeRaw`DELETE FROM attachment_chunks WHERE key = ${key}::uuid`;
  }

  // The readiness of the database is a check of its own.
  async check(): Promise<void> {}
}

/** Joins bytes to parts of this size; the last one may be smaller. */
async function* chunksOf(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array, void> {
  let chunk = Buffer.allocUnsafe(size);
  let filled = 0;
  for await (const part of bytes) {
    for (let from = 0; from < part.length; ) {
      const taken = Math.min(part.length - from, size - filled);
      chunk.set(part.subarray(from, from + taken), filled);
      filled += taken;
      from += taken;
      if (filled < size) continue;
      yield chunk;
      // The driver may still send the last one.
      chunk = Buffer.allocUnsafe(size);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
