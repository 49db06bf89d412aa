import { personOfPage } from '../sign-in/session-gate.ts';

/** A text that was typed but not sent. */
export interface Draft {
  text: string;
  /** The text and the version of the issue when typing began, to detect other changes since. */
  base: string;
  version: number;
  /** The Idempotency-Key with which the text was sent, if its response did not arrive. */
  sentWith?: string;
}

interface StoredDraft extends Draft {
  /** When it was written, in milliseconds. */
  at: number;
  /** The tab from which this one has taken the draft over, until it changes it. */
  from?: string;
}

const storeName = 'drafts';
const opened: Record<string, Promise<IDBDatabase>> = {};

function open(name: string): Promise<IDBDatabase> {
  opened[name] ??= new Promise((resolve, reject) => {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  return opened[name];
}

/** Runs a transaction on the stored drafts. @param name of the database: `tessera-files` has the files of drafts */
export async function run(work: (store: IDBObjectStore) => void, name = 'tessera'): Promise<void> {
  const database = await open(name);
  const transaction = database.transaction(storeName, 'readwrite');
  work(transaction.objectStore(storeName));
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** Runs a transaction on the stored drafts, and one on their files. */
export const runOnBoth = (work: (store: IDBObjectStore) => void) =>
  Promise.all([run(work), run(work, 'tessera-files')]);

/**
 * Each tab has its own drafts for each person, named by the lock that it holds while it lives and belongs to the person. So a
 * draft is free again after the tab has gone to another person.
 */
let claimed: Promise<string> | undefined;

function claimTab(): Promise<string> {
  claimed ??= (async () => {
    // A reloaded tab continues. A duplicated tab has the same storage, but does not get the lock.
    const prefix = `tessera-drafts-${personOfPage()}`;
    const known = sessionStorage.getItem(prefix) ?? `${prefix}-${crypto.randomUUID()}`;
    const name = (await holdLock(known)) ? known : `${prefix}-${crypto.randomUUID()}`;
    if (name !== known) await holdLock(name);
    sessionStorage.setItem(prefix, name);
    return name;
  })();
  return claimed;
}

// A document that is reloaded holds its lock until the browser has unloaded it. Only a duplicated tab waits so long.
const unloadMs = 5_000;

const holdLock = (name: string) =>
  new Promise<boolean>((resolve, reject) => {
    navigator.locks
      .request(name, { signal: AbortSignal.timeout(unloadMs) }, () => {
        resolve(true);
        return new Promise(() => {});
      })
      .catch((error: DOMException) => (error.name === 'TimeoutError' ? resolve(false) : reject(error)));
  });

/**
 * Returns the tab's draft. Without one, the tab takes over the newest draft of a tab that no longer lives. A tab that is
 * reloaded does not live for a moment: if another has taken its draft over meanwhile, both have it.
 */
export async function readDraft(scope: string): Promise<Draft | undefined> {
  const tab = await claimTab();
  const { held = [] } = await navigator.locks.query();
  const living = new Set(held.map(({ name }) => name));
  let own: StoredDraft | undefined;
  await run((store) => {
    const free: { owner: string; draft: StoredDraft }[] = [];
    const reading = store.openCursor(IDBKeyRange.bound([scope], [scope, []]));
    reading.onsuccess = () => {
      const cursor = reading.result;
      if (cursor !== null) {
        const [, owner] = cursor.key as [string, string];
        const draft: StoredDraft = cursor.value;
        if (owner === tab) own = draft;
        else if (draft.from === tab || !living.has(owner)) free.push({ owner, draft });
        return cursor.continue();
      }
      const newest = free.sort((one, other) => other.draft.at - one.draft.at)[0];
      if (own !== undefined || newest === undefined) return;
      const { from, ...draft } = newest.draft;
      own = from === tab ? draft : { ...draft, from: newest.owner };
      if (from !== tab) store.delete([scope, newest.owner]);
      store.put(own, [scope, tab]);
    };
  });
  return own;
}

export async function writeDraft(scope: string, draft: Draft): Promise<void> {
  const tab = await claimTab();
  await run((store) => store.put({ ...draft, at: Date.now() } satisfies StoredDraft, [scope, tab]));
}

export async function deleteDraft(scope: string): Promise<void> {
  const tab = await claimTab();
  await run((store) => store.delete([scope, tab]));
}

/** Deletes the drafts of a person whose text was sent. */
export async function deleteSentDrafts(person: string, texts: readonly string[]): Promise<void> {
  await run((store) => {
    const reading = store.openCursor(ofPerson(person));
    reading.onsuccess = () => {
      const cursor = reading.result;
      if (cursor === null) return;
      if (texts.includes((cursor.value as StoredDraft).text)) cursor.delete();
      cursor.continue();
    };
  });
}

// '0' follows '/'.
export const ofPerson = (person: string | undefined) => IDBKeyRange.bound([`${person}/`], [`${person}0`]);

const keepKey = () => `tessera-keep-drafts-${personOfPage()}`;

/** Whether the drafts of the person stay in this browser after a sign-out. */
export const areDraftsKept = () => localStorage.getItem(keepKey()) === 'on';

export function keepDrafts(isOn: boolean): void {
  if (isOn) localStorage.setItem(keepKey(), 'on');
  else localStorage.removeItem(keepKey());
}

/** Deletes the drafts of the person in all tabs at a sign-out (ASVS 14.3.1), unless they are to be kept. */
export async function forgetDrafts(): Promise<void> {
  if (areDraftsKept()) return;
  const person = personOfPage();
  // A browser without a store has no drafts.
  await runOnBoth((store) => store.delete(ofPerson(person))).catch(() => {});
}
