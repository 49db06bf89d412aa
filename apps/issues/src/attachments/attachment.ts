import type { ShownFile } from '../issue-core/attachment.ts';
import type { StoreName } from './blob-store.ts';

/** A file whose bytes are stored, or were until it was deleted. */
export interface StoredFile extends ShownFile {
  issueId: string | null;
  key: string;
  store: StoreName;
  /** Null if the file was deleted before. */
  sha256: Uint8Array;
  state: 'stored' | 'deleted';
  uploaderId: string;
  uploaderName: string | null;
  createdAt: Date;
  expiresAt: Date | null;
}

/** A file to upload. */
export interface NewFile {
  name: string;
  size: number;
  uploaderId: string;
  /** Whether it gets its issue at the end of the upload. */
  isForIssue: boolean;
}

/** A file whose bytes are written. */
export interface StartedFile {
  id: string;
  key: string;
}

/** What is known of a file when its bytes are written. */
export interface Contents {
  sha256: Uint8Array;
  mediaType: string;
  width: number | null;
  height: number | null;
}

/** The quotas of a person, in bytes. */
export const unboundMax = 100 * 1024 * 1024;
export const dailyMax = 1024 * 1024 * 1024;
/** What the database store holds in total. */
export const databaseBytesMax = 10 * 1024 * 1024 * 1024;
/** The minimum speed of a transfer, in bytes in a second. */
export const paceMin = 16 * 1024;
