import { ProblemError } from '@tessera/service-kit';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isWhole } from '../issue-core/project-access.ts';
import { chargeOf } from '../issue-store/attachment.sql.ts';
import { isReferredTo, isSeen, joinPerson } from '../issue-store/issue.sql.ts';
import { mayRead } from '../issue-store/sight.sql.ts';
import {
  type Contents,
  dailyMax,
  databaseBytesMax,
  type NewFile,
  type StartedFile,
  type StoredFile,
  unboundMax,
} from './attachment.ts';
import type { StoreName } from './blob-store.ts';

const columns = Prisma.sql`${Prisma.raw(`a.id, a.issue_id AS "issueId", a.key, a.store, a.name, a.size, a.sha256, a.media_type AS "mediaType",
  a.width, a.height, a.state, a.uploader_id AS "uploaderId", a.created_at AS "createdAt", a.expires_at AS "expiresAt"`)},
  uploader.names AS "uploaderName"`;
const uploader = joinPerson('uploader', 'a.uploader_id');

/** How long the bytes of an upload are kept without its end: longer than an upload takes at the minimum speed. */
const uploadTime = Prisma.raw(`interval '1 hour'`);
/** How long a file without an issue is kept. */
const unboundTime = Prisma.raw(`interval '7 days'`);
/** How long the row of a deleted file without an issue is kept, which counts towards the quota of its day. */
const deletedTime = Prisma.raw(`interval '2 days'`);
/** A store may carry out a request after it has seemed to fail. */
const failedTime = Prisma.raw(`interval '10 minutes'`);

/** Rows of files. Those of an issue are bound and deleted by `IssueWriter`. */
export class AttachmentRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The first step of an upload: writes the row of the file, and its key among those without a file. Throws a 409 problem if a quota
   * would be exceeded: the row of the store is locked first, so that uploads are counted one after the other.
   */
  async start({ name, size, uploaderId, isForIssue }: NewFile, store: StoreName): Promise<StartedFile> {
    const file = { id: uuidv7(), key: uuidv4() };
    const charge = chargeOf(Prisma.sql`${size}::int`);
    await this.#database.$transaction(async (transaction) => {
      await chargeStore(transaction, store, charge);
      const own = Prisma.sql`SELECT coalesce(sum(${chargeOf(Prisma.raw('size'))}), 0) + ${charge} FROM attachments WHERE uploader_id = ${uploaderId}::uuid`;
      const started = await transaction.$executeRaw`
        WITH allowed AS (
          SELECT FROM (SELECT) one
           WHERE (${isForIssue} OR (${own} AND issue_id IS NULL AND state <> 'deleted') <= ${unboundMax}::bigint)
             AND (${own} AND created_at > now() - interval '1 day') <= ${dailyMax}::bigint
        ), intended AS (
          INSERT INTO blob_deletions (key, store, charge, due_at)
          SELECT ${file.key}::uuid, ${store}, ${charge}, now() + ${uploadTime} FROM allowed
        )
        INSERT INTO attachments (id, key, store, uploader_id, name, size, expires_at)
        SELECT ${file.id}::uuid, ${file.key}::uuid, ${store}, ${uploaderId}::uuid, ${name}, ${size}::int, now() + ${uploadTime}
          FROM allowed`;
      if (started === 0)
        throw quotaExceeded(
          'At most 100 MiB of files without an issue and 1 GiB a day for each person; a file counts as 64 KiB or more.',
        );
    });
    return file;
  }

  /** What the files of each store count together. */
  async usage(): Promise<{ store: StoreName; bytes: number }[]> {
    return this.#database.$queryRaw`SELECT store, bytes::float8 AS bytes FROM attachment_usage`;
  }

  /** The last step of an upload. False if it took too long, so that its bytes may be deleted already. */
  async finish(
    { id, key }: StartedFile,
    { sha256, mediaType, width, height }: Contents,
    within: Transaction = this.#database,
  ): Promise<boolean> {
    const finished = await within.$executeRaw`
      WITH started AS (
        SELECT id, key FROM attachments WHERE id = ${id}::uuid AND key = ${key}::uuid AND state = 'uploading' FOR UPDATE
      ), kept AS (
        DELETE FROM blob_deletions b USING started WHERE b.key = started.key AND b.attempts = 0 RETURNING b.key
      )
      UPDATE attachments a SET state = 'stored', sha256 = ${sha256}::bytea, media_type = ${mediaType}, width = ${width}::int,
             height = ${height}::int, expires_at = now() + ${unboundTime}
        FROM kept WHERE a.key = kept.key`;
    return finished === 1;
  }

  /** Ends an upload that has failed. Its bytes are deleted soon. */
  async abandon({ id, key }: StartedFile): Promise<void> {
    await this.#database.$executeRaw`
      WITH ended AS (
        UPDATE attachments SET state = 'deleted', deleted_at = now(), expires_at = now() + ${deletedTime}
         WHERE id = ${id}::uuid AND state = 'uploading'
      )
      UPDATE blob_deletions SET due_at = least(due_at, now() + ${failedTime}) WHERE key = ${key}::uuid AND attempts = 0`;
  }

  /** Finds a file that a person may see: of an issue that they read, or their own without an issue, also a deleted one. */
  async find(
    id: string,
    { id: readerId, access: { scope } }: Pick<Actor, 'id' | 'access'>,
    within: Transaction = this.#database,
  ): Promise<StoredFile | undefined> {
    const isAlone = isWhole(scope) && scope.basis.length === 0;
    // Also by the present members: who was removed has lost the files at once.
    const isRead = isAlone
      ? Prisma.sql`i.id IS NOT NULL`
      : Prisma.sql`(i.id IS NOT NULL AND ${isSeen(scope)} AND ${mayRead('reader.id')})`;
    const [file] = await within.$queryRaw<StoredFile[]>`
      SELECT ${columns} FROM attachments a LEFT JOIN issues i ON i.id = a.issue_id ${uploader}
       CROSS JOIN (SELECT ${readerId}::uuid AS id) reader
       WHERE a.id = ${id}::uuid
         AND (${isRead} OR (a.issue_id IS NULL AND a.sha256 IS NOT NULL AND a.uploader_id = ${readerId}::uuid))`;
    return file;
  }

  /** The files of an issue, the oldest first; undefined if the issue does not exist. */
  async list(reference: IssueReference): Promise<StoredFile[] | undefined> {
    const rows = await this.#database.$queryRaw<(StoredFile | { id: null })[]>`
      SELECT ${columns} FROM issues i LEFT JOIN attachments a ON a.issue_id = i.id AND a.state = 'stored' ${uploader}
       WHERE ${isReferredTo(reference)} ORDER BY a.created_at, a.id`;
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }

  /** Deletes a file without an issue. False if it has one meanwhile. */
  async deleteUnbound(id: string, uploaderId: string): Promise<boolean> {
    const deleted = await this.#database.$executeRaw(
      deleteUnbound(Prisma.sql`id = ${id}::uuid AND uploader_id = ${uploaderId}::uuid AND state = 'stored'`),
    );
    return deleted > 0;
  }

  /** Deletes what has expired: files without an issue, uploads without an end, and rows of deleted files. */
  async deleteExpired(batchSize: number): Promise<number> {
    const expired = Prisma.sql`
      SELECT id FROM attachments WHERE issue_id IS NULL AND expires_at < now() ORDER BY expires_at LIMIT ${batchSize}::int
         FOR UPDATE SKIP LOCKED`;
    const removed = await this.#database.$executeRaw`
      DELETE FROM attachments WHERE id IN (${expired}) AND state = 'deleted'`;
    const unended = await this.#database.$executeRaw`
      UPDATE attachments SET state = 'deleted', deleted_at = now(), expires_at = now() + ${deletedTime}
       WHERE id IN (${expired}) AND state = 'uploading'`;
    return (
      removed +
      unended +
      (await this.#database.$executeRaw(deleteUnbound(Prisma.sql`id IN (${expired}) AND state = 'stored'`)))
    );
  }
}

/** Returns the number of files, each of which leaves its key to the worker. */
function deleteUnbound(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    WITH gone AS (
      UPDATE attachments SET state = 'deleted', deleted_at = now(), deleted_by = uploader_id, expires_at = now() + ${deletedTime}
       WHERE issue_id IS NULL AND ${condition} RETURNING key, store, size
    )
    INSERT INTO blob_deletions (key, store, charge, due_at)
    SELECT key, store, ${chargeOf(Prisma.raw('size'))}, now() FROM gone`;
}

/** Adds to what a store holds, and locks its row. Throws a 409 problem if it has no room. */
export async function chargeStore(
  transaction: Transaction,
  store: StoreName,
  charge: Prisma.Sql,
): Promise<void> {
  const max = store === 'database' ? databaseBytesMax : null;
  const charged = await transaction.$executeRaw`
    UPDATE attachment_usage SET bytes = bytes + ${charge}
     WHERE store = ${store} AND (${max}::bigint IS NULL OR bytes + ${charge} <= ${max}::bigint)`;
  if (charged === 0) throw quotaExceeded('The store of files is full.');
}

function quotaExceeded(detail: string): ProblemError {
  return new ProblemError({ status: 409, code: 'quota_exceeded', detail });
}
