import { createHash } from 'node:crypto';
import { ProblemError } from '@tessera/service-kit';
import { type Database, inTransaction, type Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import { assertMay, assertMayDelete } from '../issue-core/issue-access.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import type { AttachmentRepository } from './attachment.repository.ts';
import type { Contents, NewFile, StartedFile, StoredFile } from './attachment.ts';
import {
  type BlobStore,
  type BlobStores,
  type ByteRange,
  storageUnavailable,
  storeOf,
} from './blob-store.ts';
import { headerBytes, readPicture } from './picture.ts';

interface AttachmentServiceDependencies {
  database: Database;
  repository: AttachmentRepository;
  reader: Pick<IssueReader, 'findState'>;
  writer: Pick<IssueWriter, 'change'>;
  stores: BlobStores;
  /** The store of new files. */
  store: BlobStore;
}

/** The bytes of an upload, and what the caller says of them. */
export interface Upload extends NewFile {
  bytes: AsyncIterable<Uint8Array>;
  /** The SHA-256 that the caller demands. */
  digest: Uint8Array | undefined;
}

/** An upload whose bytes are written. */
export interface ReceivedFile extends StartedFile, NewFile {
  contents: Contents;
}

/** Files: their upload in three steps, their bytes, and their deletion. */
export class AttachmentService {
  readonly #dependencies: AttachmentServiceDependencies;

  constructor(dependencies: AttachmentServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws a problem unless a person may add files to an issue: those who may comment on it may. */
  async assertMayAttach(actor: Actor, reference: IssueReference): Promise<void> {
    assertMay(actor, 'comment', assertFound(await this.#dependencies.reader.findState(reference)));
  }

  /** The first two steps of an upload: the row, then the bytes. */
  async receive({ bytes, digest, ...file }: Upload): Promise<ReceivedFile> {
    const { repository, store } = this.#dependencies;
    const started = await repository.start(file, store.name);
    try {
      const seen = observe(bytes);
      await store.write(started.key, seen.bytes, file.size);
      const contents = seen.contents();
      if (digest !== undefined && !Buffer.from(digest).equals(contents.sha256)) throw digestMismatch();
      return { ...started, ...file, contents };
    } catch (error) {
      // If this fails, too, the worker deletes the bytes later.
      await repository.abandon(started).catch(() => undefined);
      throw error;
    }
  }

  /** The last step: the file exists from now on, and has its issue if one was named. */
  async finish(
    { contents, ...file }: ReceivedFile,
    { actor, requestId, issue }: { actor: Actor; requestId: string; issue: IssueReference | undefined },
    within?: Transaction,
  ): Promise<StoredFile> {
    const { database, repository, writer } = this.#dependencies;
    const end = async (transaction: Transaction) => {
      if (!(await repository.finish(file, contents, transaction)))
        throw storageUnavailable(new Error('the upload took too long'));
      if (issue !== undefined) {
        const changed = await writer.change(
          issue,
          { actorId: actor.id, requestId },
          (seen) => {
            assertMay(actor, 'comment', seen);
            return { files: { added: [file] } };
          },
          transaction,
        );
        assertFound(changed);
      }
      return assertFoundFile(await repository.find(file.id, actor, transaction));
    };
    return inTransaction(database, end, { within });
  }

  async find(id: string, actor: Actor): Promise<StoredFile> {
    return assertFoundFile(await this.#dependencies.repository.find(id, actor));
  }

  /** Finds a file that has bytes. */
  async findStored(id: string, actor: Actor): Promise<StoredFile> {
    const file = await this.find(id, actor);
    if (file.state === 'deleted') throw attachmentNotFound();
    return file;
  }

  /** Opens the bytes of a file: the first of them are read, so that a store that does not respond is seen before the response. */
  async open({ store, key }: StoredFile, range: ByteRange): Promise<AsyncIterable<Uint8Array>> {
    const bytes = storeOf(this.#dependencies.stores, store).read(key, range)[Symbol.asyncIterator]();
    let first: IteratorResult<Uint8Array> | undefined = await bytes.next();
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const next = first ?? (await bytes.next());
          first = undefined;
          return next;
        },
        return: async () => (await bytes.return?.()) ?? { done: true, value: undefined },
      }),
    };
  }

  /** Returns the files of an issue. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference): Promise<StoredFile[]> {
    return assertFound(await this.#dependencies.repository.list(reference));
  }

  /** Deletes a file. A request for a deleted file succeeds without a change, so that a client can retry. */
  async delete(id: string, actor: Actor, requestId: string): Promise<void> {
    const { repository, writer } = this.#dependencies;
    let file = await this.find(id, actor);
    if (file.issueId === null && (await repository.deleteUnbound(id, actor.id))) return;
    // A text has named it meanwhile.
    if (file.issueId === null) file = await this.find(id, actor);
    if (file.issueId === null) return;
    const { uploaderId } = file;
    const issue = { id: file.issueId, scope: actor.access.scope };
    await writer.change(issue, { actorId: actor.id, requestId }, async (seen, transaction) => {
      assertMayDelete(actor, uploaderId, seen.projectId);
      const present = await repository.find(id, actor, transaction);
      return present?.state === 'stored' ? { files: { removed: [present] } } : undefined;
    });
  }
}

/** Passes bytes on, and keeps their hash and the beginning. */
function observe(source: AsyncIterable<Uint8Array>): {
  bytes: AsyncIterable<Uint8Array>;
  contents: () => Contents;
} {
  const hash = createHash('sha256');
  const beginning: Uint8Array[] = [];
  let kept = 0;
  async function* pass() {
    for await (const part of source) {
      hash.update(part);
      if (kept < headerBytes) {
        beginning.push(part.subarray(0, headerBytes - kept));
        kept += part.length;
      }
      yield part;
    }
  }
  const contents = (): Contents => {
    const picture = readPicture(Buffer.concat(beginning));
    const { mediaType = 'application/octet-stream', width = null, height = null } = picture ?? {};
    return { sha256: hash.digest(), mediaType, width, height };
  };
  return { bytes: pass(), contents };
}

function assertFoundFile(file: StoredFile | undefined): StoredFile {
  if (file !== undefined) return file;
  throw attachmentNotFound();
}

function attachmentNotFound(): ProblemError {
  return new ProblemError({ status: 404, code: 'attachment_not_found', detail: 'There is no such file.' });
}

function digestMismatch(): ProblemError {
  return new ProblemError({
    status: 422,
    code: 'digest_mismatch',
    detail: 'The bytes of the file do not have the hash of Repr-Digest.',
    errors: [{ field: 'Repr-Digest', message: 'is not the hash of the bytes' }],
  });
}
