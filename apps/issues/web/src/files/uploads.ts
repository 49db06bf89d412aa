import type { Attachment } from '@tessera/contracts';
import { HttpError } from '../http/http.ts';
import {
  changeKept,
  filesOfDraft,
  forgetUnneeded,
  hasRoom,
  type KeptFile,
  keepFile,
  readKept,
} from './kept-files.ts';
import { withoutMetadata } from './photo.ts';
import { placeholdersIn } from './placeholders.ts';
import { sendFile } from './send-file.ts';

/** `idle`: no text names the file; `asking`: whether a photo may be sent with its data; `lost`: this browser has no bytes. */
export type Phase = 'idle' | 'waiting' | 'preparing' | 'sending' | 'asking' | 'failed' | 'lost' | 'done';

export interface Upload {
  readonly id: string;
  readonly scope: string;
  readonly name: string;
  readonly size: number;
  readonly phase: Phase;
  /** The part of its bytes that are sent, from 0 to 1. */
  readonly part: number;
  /** Why it failed, or what is asked. */
  readonly problem: string;
  readonly uploaded?: Attachment | undefined;
}

/** The service refuses larger files. */
const bytesMax = 25 * 1024 * 1024;
const atOnce = 3;

let uploads: ReadonlyMap<string, Upload> = new Map();
const listeners = new Set<() => void>();
/** The files of this page, also where the browser keeps nothing. */
const files = new Map<string, KeptFile>();
const working = new Map<string, AbortController>();

export const currentUploads = () => uploads;

export function onUploads(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function note({ scope, id, name, size, uploaded }: KeptFile, change: Partial<Upload>): void {
  const before = uploads.get(id) ?? { id, scope, name, size, uploaded, phase: 'idle', part: 0, problem: '' };
  uploads = new Map(uploads).set(id, { ...before, ...change });
  for (const listener of listeners) listener();
}

/** Takes files for a draft, whose text then gets their placeholders. Those that are too large are not taken. */
export function takeFiles(scope: string, chosen: readonly File[]): KeptFile[] {
  return chosen
    .filter(({ size }) => size <= bytesMax)
    .map((bytes) => {
      const { size } = bytes;
      const [id, name, at] = [crypto.randomUUID(), nameOf(bytes.name), Date.now()];
      const file: KeptFile = { scope, id, name, size, at, isReady: false, bytes };
      files.set(id, file);
      note(file, { phase: 'waiting' });
      return file;
    });
}

const nameMax = 255;

/** A name that the service accepts: one line, in its own order. */
function nameOf(given: string): string {
  const name = given
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202d\u202e]/gu, '')
    .trim()
    .toWellFormed();
  const [end = ''] = /\.[\p{L}\p{N}]{1,10}$/u.exec(name) ?? [];
  return name.length <= nameMax ? name || 'file' : name.slice(0, nameMax - end.length).toWellFormed() + end;
}

/** Reads the files of a draft that another page has kept. */
export async function readUploads(scope: string): Promise<void> {
  for (const file of await filesOfDraft(scope)) {
    if (files.has(file.id)) continue;
    files.set(file.id, file);
    note(file, { phase: file.uploaded === undefined ? 'idle' : 'done' });
  }
}

/** Goes on with the files that the text of a draft names, and stops the others. */
export function follow(scope: string, text: string): void {
  const named = new Set(placeholdersIn(text).map(({ id }) => id));
  for (const { id, name } of placeholdersIn(text)) {
    const file = files.get(id) ?? { scope, id, name, size: 0, at: 0, isReady: false };
    const { phase } = uploads.get(id) ?? { phase: 'idle' };
    if (phase === 'idle' || (phase === 'waiting' && !working.has(id))) void upload(file);
  }
  for (const { id, phase, scope: of } of uploads.values())
    if (of === scope && !named.has(id) && phase !== 'done') stop(id);
}

function stop(id: string): void {
  working.get(id)?.abort();
  const file = files.get(id);
  if (file !== undefined && uploads.get(id)?.phase !== 'idle') note(file, { phase: 'idle', part: 0 });
}

/** Tries a failed upload again. */
export function retry(id: string): void {
  const file = files.get(id);
  if (file !== undefined) void upload(file);
}

/** Sends a photo with its data, as the user has decided. */
export function sendAsItIs(id: string): void {
  const file = files.get(id);
  if (file !== undefined) void change(file, { isReady: true }).then(upload);
}

async function change(file: KeptFile, part: Partial<KeptFile>): Promise<KeptFile> {
  const changed = { ...file, ...part };
  files.set(file.id, changed);
  await changeKept(file, part).catch(() => undefined);
  return changed;
}

/** Keeps a file and uploads it, in one tab at a time. */
async function upload(file: KeptFile): Promise<void> {
  const { id } = file;
  const before = working.get(id);
  // What was stopped ends before it begins again.
  if (before !== undefined && !before.signal.aborted) return;
  note(file, { phase: 'waiting', part: 0, problem: '' });
  if (before !== undefined) return;
  const controller = new AbortController();
  const { signal } = controller;
  working.set(id, controller);
  try {
    await navigator.locks.request(`tessera-file-${id}`, { signal }, () => work(file, signal));
  } catch (error) {
    if (!signal.aborted) fail(file, error);
  }
  working.delete(id);
  if (signal.aborted && uploads.get(id)?.phase === 'waiting') void upload(files.get(id) ?? file);
}

async function work(named: KeptFile, signal: AbortSignal): Promise<void> {
  const tell = (file: KeptFile, change: Partial<Upload>) => {
    if (!signal.aborted) note(file, change);
  };
  let file = await kept(named);
  if (file === undefined)
    return tell(named, { phase: 'lost', problem: 'This browser no longer has the file.' });
  files.set(file.id, file);
  if (!file.isReady) {
    tell(file, { phase: 'preparing' });
    file = await prepared(file);
    if (file === undefined)
      return tell(named, {
        phase: 'asking',
        problem: 'The place and the device in this photo could not be removed from it.',
      });
  }
  if (file.uploaded === undefined) file = await inTurn(file, signal, tell);
  tell(file, { phase: 'done', uploaded: file.uploaded });
}

/** The file as it is kept: another tab may have uploaded it. Keeps a file that was chosen in this page. */
async function kept({ scope, id }: KeptFile): Promise<KeptFile | undefined> {
  const own = files.get(id);
  // A browser without a store keeps no bytes.
  const found = await readKept(scope, id).catch(() => own);
  if (found !== undefined || own?.bytes === undefined) return found;
  if (!(await hasRoom(own.size).catch(() => true)))
    throw new Error(
      'This browser keeps 100 MiB of files that are not uploaded. Wait until some of them are.',
    );
  await keepFile(own).catch(() => undefined);
  return own;
}

/** Returns a file without the position of a photo; undefined if the user has to decide. */
async function prepared(file: KeptFile): Promise<KeptFile | undefined> {
  const { bytes = new Blob() } = file;
  // For example a folder, or a file that was removed since.
  await bytes
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => {
      throw new Error('The file cannot be read. Remove it, and choose it again.');
    });
  const ready = await withoutMetadata(bytes).catch(() => undefined);
  return ready && change(file, { bytes: ready, size: ready.size, isReady: true });
}

let running = 0;
const queue: (() => void)[] = [];

async function inTurn(file: KeptFile, signal: AbortSignal, tell: typeof note): Promise<KeptFile> {
  if (running >= atOnce) {
    tell(file, { phase: 'waiting' });
    await new Promise<void>((resolve) => queue.push(resolve));
  } else running += 1;
  try {
    const { id, name, bytes = new Blob() } = file;
    signal.throwIfAborted();
    tell(file, { phase: 'sending', part: 0, size: bytes.size });
    const onProgress = (part: number) => tell(file, { part });
    const uploaded = await sendFile({ id, name, bytes, signal, onProgress });
    return await change(file, { uploaded, bytes: undefined });
  } finally {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

const cut = 'The server cannot be reached. The upload goes on when it can be.';
/** Their problem passes by itself. */
const again = ['too_many_uploads', 'too_many_requests', 'request_in_progress'];

function fail(file: KeptFile, error: unknown): void {
  const { status = -1, code = '', retryAfterSeconds = 0 } = error instanceof HttpError ? error : {};
  const message = error instanceof Error ? error.message : 'The upload failed.';
  const problem =
    status === 0 ? cut : status === 413 ? 'The file is larger than the server accepts.' : message;
  note(file, { phase: 'failed', part: 0, problem });
  if (!again.includes(code)) return;
  setTimeout(() => {
    if (uploads.get(file.id)?.problem === problem) retry(file.id);
  }, retryAfterSeconds * 1_000);
}

/** The server can be reached again. */
export function goOn(): void {
  for (const { id, phase, problem } of uploads.values()) if (phase === 'failed' && problem === cut) retry(id);
}
addEventListener('online', goOn);

/** Returns a text with the names of its files that are uploaded. */
export const withUploaded = (text: string): string =>
  placeholdersIn(text).reduceRight((done, { id, from, to }) => {
    const markdown = uploads.get(id)?.uploaded?.markdown;
    return markdown === undefined ? done : done.slice(0, from) + markdown + done.slice(to);
  }, text);

// A browser without a store has no files.
forgetUnneeded(Date.now()).catch(() => undefined);
