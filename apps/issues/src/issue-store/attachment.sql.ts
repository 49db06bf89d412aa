import { attachmentsPerIssueMax, attachmentsPerTextMax } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { filesNamedIn } from '../issue-core/attachment.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import type { IssueChange } from '../issue-core/issue-change.ts';

/** A file counts as this many bytes at least, towards quotas and the size of a store. */
export const chargeMin = 64 * 1024;

/** What a file counts, of a column or a parameter with its size. */
export function chargeOf(size: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`greatest(${size}, ${Prisma.raw(String(chargeMin))})`;
}

const shown = Prisma.raw(
  `json_build_object('id', f.id, 'name', f.name, 'size', f.size, 'mediaType', f.media_type, 'width', f.width, 'height', f.height)`,
);

/** The oldest files of the row `i`; NULL if it has none. */
export function filesOfIssue(files: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  CASE WHEN i.attachments_count > 0 THEN (
    SELECT json_agg(${shown} ORDER BY f.created_at, f.id) FROM (
      SELECT * FROM ${files} f WHERE f.issue_id = i.id AND f.state = 'stored'
       ORDER BY f.created_at, f.id LIMIT ${Prisma.raw(String(attachmentsPerTextMax))}) f
  ) END`;
}

/** The files of its issue that the row `c` names; NULL if it names none. */
export function filesOfComment(files: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  CASE WHEN c.attachment_ids <> '{}' THEN (
    SELECT json_agg(${shown} ORDER BY named.place)
      FROM unnest(c.attachment_ids) WITH ORDINALITY named (id, place)
      CROSS JOIN LATERAL (
        SELECT * FROM ${files} f WHERE f.id = named.id AND f.issue_id = c.issue_id AND f.state = 'stored' LIMIT 1) f
  ) END`;
}

/** The files that a statement reads if it binds none. */
export const allFiles = Prisma.raw('attachments');

/** What a statement that writes an issue has in addition, if it binds or deletes files. */
export interface FileParts {
  /** CTEs before the issue is written. */
  before: Prisma.Sql;
  /** What `attachments_count` becomes; undefined if it stays. */
  count: Prisma.Sql | undefined;
  /** A further condition on the issue. */
  condition: Prisma.Sql;
  /** CTEs after the issue is written. */
  after: Prisma.Sql;
  /** The files after the change: a statement reads its own rows only from its CTEs. */
  files: Prisma.Sql;
}

const noParts: FileParts = {
  before: Prisma.empty,
  count: undefined,
  condition: Prisma.empty,
  after: Prisma.empty,
  files: allFiles,
};

/** The ids of the files that a text binds: those that a person names, not a tracker. */
export function namedBy({ origin }: ChangedBy, text: string | undefined): string[] {
  return origin === undefined && text !== undefined ? filesNamedIn(text) : [];
}

/** The parts of a statement that creates an issue with these files. */
export function creatingParts(ids: readonly string[], actorId: string): FileParts {
  if (ids.length === 0) return noParts;
  return {
    before: Prisma.sql`named AS (${selectNamed(ids, actorId)}),`,
    count: namedCount,
    condition: Prisma.empty,
    after: Prisma.sql`, bound AS (${bind})`,
    files: Prisma.raw('bound'),
  };
}

/** The parts of a statement that changes an issue. Without files, there are none. */
export function changingParts({ fields, comments = [], files = {} }: IssueChange, by: ChangedBy): FileParts {
  const ids = [
    ...namedBy(by, fields?.description),
    ...comments.flatMap((change) => (change.kind === 'removed' ? [] : namedBy(by, change.draft.body))),
    ...(files.added ?? []).map(({ id }) => id),
  ];
  const removed = (files.removed ?? []).map(({ id }) => id);
  const binding = by.actorId === null || ids.length === 0 ? undefined : selectNamed(ids, by.actorId);
  if (binding === undefined && removed.length === 0) return noParts;
  const isKept = Prisma.sql`id <> ALL(${removed}::uuid[])`;
  if (binding === undefined)
    return {
      ...noParts,
      count: Prisma.sql`i.attachments_count - ${removed.length}::int`,
      after: Prisma.sql`, ${removal(removed, by)}`,
      files: Prisma.sql`(SELECT * FROM attachments WHERE ${isKept})`,
    };
  return {
    before: Prisma.sql`named AS (${binding}),`,
    count: Prisma.sql`i.attachments_count + ${namedCount}`,
    condition: Prisma.sql`AND i.attachments_count + ${namedCount} <= ${attachmentsPerIssueMax}::int`,
    after: Prisma.sql`, bound AS (${bind})`,
    files: Prisma.raw(
      '(SELECT * FROM attachments WHERE id NOT IN (SELECT id FROM bound) UNION ALL SELECT * FROM bound)',
    ),
  };
}

/** Whether a change binds files, so that an issue with many refuses it. */
export function bindsFiles({ change, by }: { change: IssueChange; by: ChangedBy }): boolean {
  return changingParts(change, by).condition !== Prisma.empty;
}

const namedCount = Prisma.raw('(SELECT count(*)::int FROM named)');

// In the order of the ids, so that two statements never wait for each other.
function selectNamed(ids: readonly string[], actorId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT id FROM attachments
     WHERE id = ANY(${[...ids]}::uuid[]) AND uploader_id = ${actorId}::uuid AND issue_id IS NULL AND state = 'stored'
     ORDER BY id FOR UPDATE`;
}

const bind = Prisma.raw(`
    UPDATE attachments a SET issue_id = i.id, expires_at = NULL FROM i, named WHERE a.id = named.id RETURNING a.*`);

// The bytes are deleted later, by the worker.
function removal(ids: readonly string[], { actorId }: ChangedBy): Prisma.Sql {
  return Prisma.sql`
    gone AS (
      UPDATE attachments a SET state = 'deleted', deleted_at = i.updated_at, deleted_by = ${actorId}::uuid
        FROM i WHERE a.id = ANY(${[...ids]}::uuid[]) AND a.issue_id = i.id AND a.state = 'stored'
      RETURNING a.key, a.store, a.size
    ), unstored AS (
      INSERT INTO blob_deletions (key, store, charge, due_at)
      SELECT key, store, ${chargeOf(Prisma.raw('size'))}, now() FROM gone
    )`;
}
