import type { Import, IssuePriority, IssueStatus } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Leases } from '../background/leases.ts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { ChangedBy, TrackerIdentity } from '../issue-core/issue.ts';
import { isOfDefaultProject } from '../issue-store/issue.sql.ts';
import { importedColumns, importedRow, insertImported } from '../issue-store/tracked.sql.ts';
import type { ListedIssue, ListPosition } from '../trackers/external-tracker.ts';
import type { MergeBase } from './field-merge.ts';
import { leaseEnd, leaseMs, type Retry, retryDelay } from './sync-lease.repository.ts';

/** A leased import and the page that it continues with. */
export interface ImportJob extends ListPosition {
  id: string;
  leaseId: string;
  requestedBy: string;
}

/** An issue to create from a remote one. */
export interface NewImportedIssue {
  remote: Pick<ListedIssue, 'id' | 'key' | 'url' | 'state' | 'author' | 'createdAt'>;
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus;
  assigneeId: string | null;
  /** Whether the remote issue has an assignee without a local user. */
  isUnassigned: boolean;
  base: MergeBase;
}

interface ImportRow {
  requestedBy: string;
  startedAt: Date;
  finishedAt: Date | null;
  imported: number;
  linked: number;
  skipped: number;
  unassigned: number;
  since: Date;
  lastError: string | null;
  nextAttemptAt: Date;
}

/** Maximum number of stored characters of a person's name in the tracker. */
export const nameMaxLength = 255;

/** The position of the first page of a list. */
export const listStart: ListPosition = { since: new Date(0), page: 1 };

const importColumns = Prisma.raw(`requested_by AS "requestedBy", started_at AS "startedAt",
  finished_at AS "finishedAt", imported, linked, skipped, unassigned, since, last_error AS "lastError",
  next_attempt_at AS "nextAttemptAt"`);

/** Imports of the configured tracker's issues: their progress, and the issues that they create. */
export class ImportRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;
  readonly #isTracker: Prisma.Sql;
  readonly #leases: Leases;

  constructor(database: Database, tracker: TrackerIdentity, leases: Leases) {
    this.#database = database;
    this.#leases = leases;
    this.#tracker = tracker;
    this.#isTracker = Prisma.sql`provider = ${tracker.provider} AND project = ${tracker.project}`;
  }

  /** Starts an import. If one is running, makes it due at once. */
  async start(requestedBy: string): Promise<ImportRow> {
    const { provider, project } = this.#tracker;
    const [row] = await this.#database.$queryRaw<ImportRow[]>`
      INSERT INTO tracker_imports (id, provider, project, requested_by, since)
      VALUES (${uuidv7()}::uuid, ${provider}, ${project}, ${requestedBy}::uuid, ${listStart.since}::timestamptz)
      ON CONFLICT (provider, project) WHERE finished_at IS NULL
        DO UPDATE SET next_attempt_at = clock_timestamp(), failures = 0
      RETURNING ${importColumns}`;
    if (row === undefined) throw new Error('INSERT … RETURNING returned no row');
    return row;
  }

  /** Returns the last import; undefined if there was none. */
  async findLast(): Promise<ImportRow | undefined> {
    const [row] = await this.#database.$queryRaw<ImportRow[]>`
      SELECT ${importColumns} FROM tracker_imports WHERE ${this.#isTracker} ORDER BY id DESC LIMIT 1`;
    return row;
  }

  /**
   * Leases the running import to process one page within `timeoutMs`; undefined if no import is running or another
   * process holds the lease.
   */
  async lease(timeoutMs: number): Promise<ImportJob | undefined> {
    return this.#leases.take(leaseMs(timeoutMs), {
      lease: (leaseId) => this.#lease(leaseId, timeoutMs),
      release: (leaseId) => this.#database.$executeRaw`
        UPDATE tracker_imports SET claim_id = NULL, claim_until = NULL WHERE claim_id = ${leaseId}::uuid`,
    });
  }

  async #lease(leaseId: string, timeoutMs: number): Promise<ImportJob | undefined> {
    const [job] = await this.#database.$queryRaw<ImportJob[]>`
      UPDATE tracker_imports SET claim_id = ${leaseId}::uuid, claim_until = ${leaseEnd(timeoutMs)}
       WHERE ${this.#isTracker} AND finished_at IS NULL AND next_attempt_at <= clock_timestamp()
         AND (claim_until IS NULL OR claim_until < clock_timestamp())
      RETURNING id, claim_id AS "leaseId", requested_by AS "requestedBy", since, page`;
    return job;
  }

  /**
   * Returns which of the remote ids are bound to a local issue, and the remote ids of the local issues; null for an issue
   * without a remote one.
   */
  async findKnown(remoteIds: readonly string[], issueIds: readonly string[]) {
    const rows = await this.#database.$queryRaw<{ remoteId: string | null; issueId: string | null }[]>`
      SELECT remote_id AS "remoteId", NULL::uuid AS "issueId" FROM tracker_links
       WHERE ${this.#isTracker} AND remote_id = ANY (${[...remoteIds]}::text[])
      UNION ALL SELECT t.remote_id, i.id FROM issues i LEFT JOIN tracker_links t ON t.issue_id = i.id AND ${this.#isTracker}
       WHERE i.id = ANY (${[...issueIds]}::uuid[])`;
    return {
      remoteIds: new Set(rows.map(({ remoteId }) => remoteId)),
      remoteOf: new Map(
        rows.flatMap(({ issueId, remoteId }) => (issueId === null ? [] : [[issueId, remoteId] as const])),
      ),
    };
  }

  /**
   * Creates issues for the remote issues without a local one, with their history and links, and makes them due so that
   * a sync adds their comments. If several imports run concurrently, the unique index lets only one create an issue.
   * Returns false if the lease has expired.
   */
  async create(
    { id: importId, leaseId, requestedBy }: ImportJob,
    issues: readonly NewImportedIssue[],
  ): Promise<boolean> {
    const { provider, project } = this.#tracker;
    const by: ChangedBy = { actorId: null, origin: provider, requestId: `import-${importId}` };
    const rows = JSON.stringify(
      issues.map(({ remote, ...issue }, place) => {
        const members = remoteMembers(remote);
        const link = { linkId: uuidv7(), linkRef: `${provider}:${remote.id}`, linkUrl: remote.url };
        return importedRow({ id: uuidv7(), place, ...issue, ...members, ...link }, by);
      }),
    );
    const linked = Prisma.raw(
      'SELECT * FROM listed WHERE id IN (SELECT issue_id FROM linked) ORDER BY place',
    );
    const leased = await this.#database.$queryRaw<unknown[]>`
      WITH leased AS (
        SELECT id FROM tracker_imports
         WHERE id = ${importId}::uuid AND claim_id = ${leaseId}::uuid AND claim_until > clock_timestamp()
      ), listed AS (
        SELECT r.* FROM leased, jsonb_to_recordset(${rows}::jsonb) AS r (${importedColumns},
          place int, "isUnassigned" boolean, base jsonb, "remoteId" text, "remoteKey" text, url text, state text,
          author text, "createdAt" timestamptz)
      ), linked AS (
        INSERT INTO tracker_links (issue_id, provider, project, remote_id, remote_key, remote_url, remote_state,
          remote_since, remote_author, remote_created_at, base, requested_by, next_attempt_at)
        SELECT id, ${provider}, ${project}, "remoteId", "remoteKey", url, state, "createdAt", author, "createdAt", base,
               ${requestedBy}::uuid, clock_timestamp() FROM listed ORDER BY place
        ON CONFLICT (provider, project, remote_id) DO NOTHING
        RETURNING issue_id
      ), ${insertImported(linked, requestedBy, by)}
      UPDATE tracker_imports SET
        imported = imported + (SELECT count(*)::int FROM linked),
        linked = linked + (SELECT count(*)::int FROM listed WHERE id NOT IN (SELECT issue_id FROM linked)),
        unassigned = unassigned + (
          SELECT count(*)::int FROM listed WHERE "isUnassigned" AND id IN (SELECT issue_id FROM linked))
       WHERE id = (SELECT id FROM leased) RETURNING id`;
    return leased.length > 0;
  }

  /**
   * Records that a page was read and extends the lease for the next page. `null` as the next position ends the import.
   */
  async endPage(
    { id, leaseId }: ImportJob,
    next: ListPosition | null,
    { linked, skipped, timeoutMs }: { linked: number; skipped: number; timeoutMs: number },
  ): Promise<boolean> {
    const place =
      next === null
        ? Prisma.sql`finished_at = clock_timestamp(), claim_id = NULL, claim_until = NULL`
        : Prisma.sql`since = ${next.since}::timestamptz, page = ${next.page}::int, claim_until = ${leaseEnd(timeoutMs)}`;
    const updated = await this.#database.$executeRaw`
      UPDATE tracker_imports SET ${place}, linked = linked + ${linked}::int,
        skipped = skipped + ${skipped}::int, failures = 0, last_error = NULL
       WHERE id = ${id}::uuid AND claim_id = ${leaseId}::uuid`;
    this.#leases.extend(leaseId, leaseMs(timeoutMs));
    return updated > 0;
  }

  /** Ends a lease without a result, so that another process continues at once. */
  async release({ id, leaseId }: ImportJob): Promise<void> {
    const end = () => this.#database.$executeRaw`
      UPDATE tracker_imports SET claim_id = NULL, claim_until = NULL
       WHERE id = ${id}::uuid AND claim_id = ${leaseId}::uuid`;
    await this.#leases.end(leaseId, end);
  }

  /**
   * Ends a lease after a failure. The delay doubles with each failure up to an hour, with jitter. The number of retries
   * is unlimited.
   */
  async fail({ id, leaseId }: ImportJob, code: string, retry: Retry): Promise<void> {
    const end = () => this.#database.$executeRaw`
      UPDATE tracker_imports SET claim_id = NULL, claim_until = NULL, last_error = ${code},
        failures = failures + ${retry.isPostponed ? 0 : 1},
        next_attempt_at = clock_timestamp() + make_interval(secs => ${retryDelay(retry)})
       WHERE id = ${id}::uuid AND claim_id = ${leaseId}::uuid`;
    await this.#leases.end(leaseId, end);
  }

  /**
   * Makes at most `limit` issues due that were never synced, oldest first; a dry run only finds them. Returns their
   * numbers, and whether more exist.
   */
  async backfill(
    requestedBy: string,
    { limit, isDryRun }: { limit: number; isDryRun: boolean },
  ): Promise<{ numbers: number[]; hasMore: boolean }> {
    const { provider, project } = this.#tracker;
    const unsynced = Prisma.sql`
      SELECT id, number FROM issues i
       WHERE ${isOfDefaultProject} AND NOT EXISTS (SELECT FROM tracker_links t WHERE t.issue_id = i.id AND ${this.#isTracker})
       ORDER BY created_at, id LIMIT ${limit + 1}`;
    const rows = await this.#database.$queryRaw<{ number: number; isMadeDue: boolean }[]>`
      WITH unsynced AS (${unsynced}), made_due AS (
        INSERT INTO tracker_links (issue_id, provider, project, requested_by, next_attempt_at)
        SELECT id, ${provider}, ${project}, ${requestedBy}::uuid, clock_timestamp()
          FROM (SELECT id FROM unsynced ORDER BY number LIMIT ${isDryRun ? 0 : limit}) due
        ON CONFLICT (issue_id, provider, project) DO NOTHING
        RETURNING issue_id
      )
      SELECT number, id IN (SELECT issue_id FROM made_due) AS "isMadeDue" FROM unsynced ORDER BY number`;
    const listed = rows.slice(0, limit).filter(({ isMadeDue }) => isDryRun || isMadeDue);
    return { numbers: listed.map(({ number }) => number), hasMore: rows.length > limit };
  }
}

function remoteMembers({ id, key, url, state, author, createdAt }: NewImportedIssue['remote']) {
  return {
    remoteId: id,
    remoteKey: key,
    url,
    state,
    author: author?.slice(0, nameMaxLength) ?? null,
    createdAt,
  };
}

/** Converts an import to its representation in the API. */
export function presentImport(row: ImportRow | undefined, detailOf: (code: string) => string): Import {
  if (row === undefined) return noImport;
  const isRunning = row.finishedAt === null;
  return {
    state: !isRunning ? 'finished' : row.lastError === null ? 'running' : 'retrying',
    requested_by: row.requestedBy,
    started_at: row.startedAt.toISOString(),
    finished_at: row.finishedAt?.toISOString() ?? null,
    imported: row.imported,
    linked: row.linked,
    skipped: row.skipped,
    unassigned: row.unassigned,
    read_until: row.since.getTime() === listStart.since.getTime() ? null : row.since.toISOString(),
    last_error: row.lastError,
    detail: row.lastError === null ? null : detailOf(row.lastError),
    next_attempt_at: isRunning && row.lastError !== null ? row.nextAttemptAt.toISOString() : null,
  };
}

const noImport: Import = {
  state: 'none',
  requested_by: null,
  started_at: null,
  finished_at: null,
  imported: 0,
  linked: 0,
  skipped: 0,
  unassigned: 0,
  read_until: null,
  last_error: null,
  detail: null,
  next_attempt_at: null,
};
