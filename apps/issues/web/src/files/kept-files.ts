import type { Attachment } from '@tessera/contracts';
import { ofPerson, run } from '../drafts/draft-store.ts';
import { personOfPage } from '../sign-in/session-gate.ts';

/** A file of a draft, with its bytes until it is uploaded. Its id is also the Idempotency-Key of the upload. */
export interface KeptFile {
  scope: string;
  id: string;
  name: string;
  size: number;
  /** When it was chosen, in milliseconds. */
  at: number;
  /** The bytes are those to upload: nothing is left to remove from them. */
  isReady: boolean;
  bytes?: Blob | undefined;
  uploaded?: Attachment | undefined;
}

const database = 'tessera-files';
const bytesMax = 100 * 1024 * 1024;
const ageMaxMs = 7 * 24 * 3_600_000;
/** The draft that names a file is written after the file. */
const unnamedMs = 10 * 60_000;

export async function keepFile(file: KeptFile): Promise<void> {
  await run((store) => store.put(file, [file.scope, file.id]), database);
}

/** Changes a file, unless it was forgotten meanwhile. */
export async function changeKept({ scope, id }: KeptFile, change: Partial<KeptFile>): Promise<void> {
  await run((store) => {
    const reading = store.get([scope, id]);
    reading.onsuccess = () => {
      if (reading.result !== undefined) store.put({ ...reading.result, ...change }, [scope, id]);
    };
  }, database);
}

async function readAll(range: IDBKeyRange): Promise<KeptFile[]> {
  let found: KeptFile[] = [];
  await run((store) => {
    const reading = store.getAll(range);
    reading.onsuccess = () => {
      found = reading.result;
    };
  }, database);
  return found;
}

export const filesOfDraft = (scope: string) => readAll(IDBKeyRange.bound([scope], [scope, []]));

export const readKept = async (scope: string, id: string): Promise<KeptFile | undefined> =>
  (await readAll(IDBKeyRange.only([scope, id])))[0];

/** Forgets files that are too old, and those that no draft names. @returns the bytes that the others have */
export async function forgetUnneeded(now: number): Promise<number> {
  const range = ofPerson(personOfPage());
  let drafts = '';
  await run((store) => {
    const reading = store.getAll(range);
    reading.onsuccess = () => {
      drafts = JSON.stringify(reading.result);
    };
  });
  let bytes = 0;
  await run((store) => {
    const reading = store.openCursor(range);
    reading.onsuccess = () => {
      const cursor = reading.result;
      if (cursor === null) return;
      const { id, at, uploaded, bytes: kept }: KeptFile = cursor.value;
      const isNamed = [id, uploaded?.id].some((one) => one !== undefined && drafts.includes(one));
      if (now - at > ageMaxMs || (!isNamed && now - at > unnamedMs)) cursor.delete();
      else bytes += kept?.size ?? 0;
      cursor.continue();
    };
  }, database);
  return bytes;
}

/** Whether this browser has room for the bytes of more files. */
export const hasRoom = async (size: number): Promise<boolean> =>
  (await forgetUnneeded(Date.now())) + size <= bytesMax;
