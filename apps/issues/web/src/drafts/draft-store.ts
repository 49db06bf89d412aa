/** A text that was typed but not sent. */
export interface Draft {
  text: string;
  /** The text and the version of the issue when typing began, to detect other changes since. */
  base: string;
  version: number;
}

const storeName = 'drafts';
let opened: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const opening = indexedDB.open('tessera', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  return opened;
}

async function run<Result>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await open();
  const transaction = database.transaction(storeName, mode);
  const answer = work(transaction.objectStore(storeName));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(answer.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

export const readDraft = (key: string): Promise<Draft | undefined> =>
  run<Draft | undefined>('readonly', (store) => store.get(key));

export const writeDraft = async (key: string, draft: Draft): Promise<void> => {
  await run('readwrite', (store) => store.put(draft, key));
};

export const deleteDraft = async (key: string): Promise<void> => {
  await run('readwrite', (store) => store.delete(key));
};
