import type { Database } from '../database.ts';
import type { BlobStore, BlobStores, StoreName } from './blob-store.ts';
import { DatabaseStore } from './database.store.ts';
import { type S3Config, S3Store } from './s3.store.ts';

export interface StoresConfig {
  /** The store of new files. */
  name: StoreName;
  /** Undefined without a bucket. */
  s3: S3Config | undefined;
}

/** Creates the stores that are configured. */
export function createStores({ s3 }: StoresConfig, database: Database): BlobStores {
  const stores: BlobStore[] = [new DatabaseStore(database), ...(s3 === undefined ? [] : [new S3Store(s3)])];
  return new Map(stores.map((store) => [store.name, store]));
}
