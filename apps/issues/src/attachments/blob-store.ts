import { ProblemError } from '@tessera/service-kit';

export const storeNames = ['database', 's3'] as const;
export type StoreName = (typeof storeNames)[number];

/** Bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where the bytes of files are. A key is written once, and never given to other bytes. */
export interface BlobStore {
  readonly name: StoreName;
  /** Writes exactly `size` bytes. The key must be one of `blob_deletions`, so that the bytes are found if the process dies. */
  write(key: string, bytes: AsyncIterable<Uint8Array>, size: number): Promise<void>;
  /** Reads bytes that exist, in parts of at most 128 KiB. */
  read(key: string, range: ByteRange): AsyncIterable<Uint8Array>;
  /** Deletes the bytes. Without any, it succeeds. */
  delete(key: string): Promise<void>;
  /** Throws if the store cannot be used. */
  check(): Promise<void>;
}

/** The stores of the process, by name. */
export type BlobStores = ReadonlyMap<StoreName, BlobStore>;

/** Returns a store. Throws a 503 problem if it is not configured. */
export function storeOf(stores: BlobStores, name: StoreName): BlobStore {
  const store = stores.get(name);
  if (store !== undefined) return store;
  throw storageUnavailable(new Error(`the store ${name} is not configured`));
}

/** 503: the store does not respond, or not as it should. */
export function storageUnavailable(cause: unknown): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'storage_unavailable',
    detail: 'The store of files does not respond. Try again.',
    headers: { 'Retry-After': '5' },
    cause,
  });
}
