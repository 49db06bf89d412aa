import { createHash } from 'node:crypto';
import type { AttachmentMoveRepository, MovedFile } from './attachment-move.repository.ts';
import { type BlobStore, type BlobStores, storeOf } from './blob-store.ts';

interface AttachmentMoveOptions {
  repository: AttachmentMoveRepository;
  stores: BlobStores;
  /** Called after each file that is moved. */
  onMoved?: (moved: number) => void;
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

  /** Moves all files of the other stores. Returns how many were moved, and the ids of those that were not, with the reasons. */
  async run(target: BlobStore): Promise<{ moved: number; failed: string[] }> {
    const { repository, onMoved } = this.#options;
    let moved = 0;
    const failed: string[] = [];
    for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
      const file = await repository.next(target.name, after);
      if (file === undefined) return { moved, failed };
      after = file.id;
      try {
        if (!(await this.#move(file, target))) continue;
        moved += 1;
        onMoved?.(moved);
      } catch (error) {
        // The bytes of a file that was deleted meanwhile may be missing.
        if (!(await repository.isPresent(file))) continue;
        failed.push(`${file.id}: ${error instanceof Error ? reasonOf(error) : 'unknown'}`);
      }
    }
  }

  async #move(file: MovedFile, target: BlobStore): Promise<boolean> {
    const { repository, stores } = this.#options;
    const key = await repository.start(file, target.name);
    try {
      const range = { start: 0, end: file.size };
      await target.write(key, hashed(storeOf(stores, file.store).read(file.key, range), file), file.size);
      await drain(hashed(target.read(key, range), file));
      return await repository.switch(file, key, target.name);
    } finally {
      await repository.end(key);
    }
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
