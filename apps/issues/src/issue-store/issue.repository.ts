import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type {
  ChangedBy,
  IssueChange,
  IssueRevision,
  IssueSnapshot,
  IssueState,
  IssueWithLinks,
  NewIssue,
  TrackerIdentity,
} from '../issue-core/issue.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { insertActivity } from './activity.sql.ts';
import {
  allComments,
  allLinks,
  allParts,
  isReferredTo,
  issueColumns,
  listedColumns,
  partsOf,
  partsWithoutMentions,
  revisionColumns,
  type SnapshotRow,
  type SnapshotSources,
  selectBareIssues,
  selectSnapshots,
  stateColumns,
  toSnapshots,
  trackerLink,
} from './issue.sql.ts';
import { deleteLinks, upsertLinks } from './link.sql.ts';
import { startWatchingAs } from './watching.sql.ts';

interface RevisionRow {
  rev: number;
  labelRev: number | null;
  trackerRev?: number | null;
  personId: string | null;
  names: string | null;
}

/** Reads and writes issues. A method with a transaction parameter runs within that transaction. */
export class IssueRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity | undefined;

  /** `tracker`: the configured tracker, whose sync state is read with each issue. */
  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /** Finds an issue with all displayed data. */
  async find(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueSnapshot | undefined> {
    const issues = Prisma.sql`SELECT ${issueColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
    return this.#readOne({ issues, links: allLinks, comments: allComments }, within);
  }

  /** Reads the revision of an issue and the current names of `people`, to validate a cached text. */
  async findRevision(
    reference: IssueReference,
    people: readonly string[],
  ): Promise<IssueRevision | undefined> {
    const rows = await this.#database.$queryRaw<RevisionRow[]>`
      SELECT ${revisionColumns(this.#tracker)}, person.id AS "personId", person.names
        FROM issues i ${trackerLink(this.#tracker)}
        LEFT JOIN identity_mirror person ON person.id = ANY(${[...people]}::uuid[])
       WHERE ${isReferredTo(reference)}`;
    const [first] = rows;
    if (first === undefined) return undefined;
    const names = rows.map((row) => [row.personId ?? '', row.names] as const);
    return {
      rev: first.rev,
      labelRev: first.labelRev,
      trackerRev: first.trackerRev,
      names: new Map(first.personId === null ? [] : names),
    };
  }

  /** Finds the fields of an issue on which the rules depend. */
  async findState(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueState | undefined> {
    const rows = await within.$queryRaw<IssueState[]>`
      SELECT ${stateColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
    return rows[0];
  }

  /** The same, with its links and labels. */
  async findWithLinks(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueWithLinks | undefined> {
    const issues = Prisma.sql`SELECT ${issueColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
    return this.#readOne({ issues, links: allLinks, conflictsBytes: 0, parts: partsWithoutMentions }, within);
  }

  /** Finds an issue with conflicts of up to `bytesMax` bytes, without links and comments. */
  async findWithConflicts(reference: IssueReference, bytesMax: number): Promise<IssueSnapshot | undefined> {
    const issues = Prisma.sql`SELECT ${issueColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
    const rows = await this.#database.$queryRaw<SnapshotRow[]>(
      selectBareIssues(issues, this.#tracker, { conflictsBytes: bytesMax }),
    );
    return toSnapshots(rows)[0];
  }

  /** Inserts an issue with its links and the first history entry, in one statement. */
  async create(
    issue: NewIssue,
    by: ChangedBy & { actorId: string },
    within: Transaction = this.#database,
  ): Promise<IssueSnapshot> {
    const id = uuidv7();
    // The reporter watches without a row.
    const watchers = [...(issue.assigneeId === null ? [] : [issue.assigneeId]), ...issue.mentionIds].filter(
      (person) => person !== by.actorId,
    );
    const watching =
      watchers.length === 0 ? Prisma.empty : Prisma.sql`, watching AS (${startWatchingAs(id, watchers)})`;
    const inserted = Prisma.raw('SELECT * FROM inserted');
    const parts = issue.mentionIds.length === 0 ? partsWithoutMentions : allParts;
    const [written, selected] =
      issue.links.length === 0
        ? [Prisma.empty, selectBareIssues(inserted, this.#tracker, { parts })]
        : [
            Prisma.sql`, links AS (${upsertLinks(id, issue.links, by.actorId)})`,
            selectSnapshots({ issues: inserted, links: Prisma.raw('links'), parts }, this.#tracker),
          ];
    const rows = await within.$queryRaw<SnapshotRow[]>`
      WITH inserted AS (
        INSERT INTO issues (id, title, description, priority, reporter_id, assignee_id, label_ids, mention_ids)
        VALUES (${id}::uuid, ${issue.title}, ${issue.description}, ${issue.priority}::issue_priority,
                ${by.actorId}::uuid, ${issue.assigneeId}::uuid, ${issue.labels.map((label) => label.id)}::uuid[],
                ${[...issue.mentionIds]}::uuid[])
        RETURNING ${issueColumns}
      ), logged AS (
        INSERT INTO activity (issue_id, actor_id, kind, request_id)
        VALUES (${id}::uuid, ${by.actorId}::uuid, 'created', ${by.requestId})
      )${watching}${written} ${selected}`;
    const [created] = toSnapshots(rows);
    if (created === undefined) throw new Error('INSERT … RETURNING returned no row');
    return created;
  }

  /**
   * Changes an issue while its row is locked. `decide` receives the locked issue and returns the change. If it returns
   * undefined or throws, nothing is written. Returns undefined if the issue does not exist.
   */
  async change(
    reference: IssueReference,
    by: ChangedBy,
    decide: (issue: IssueWithLinks, transaction: Transaction) => Promise<IssueChange | undefined>,
  ): Promise<IssueSnapshot | undefined> {
    return this.#database.$transaction(async (transaction) => {
      const issue = await this.lock(reference, transaction);
      if (issue === undefined) return undefined;
      const change = await decide(issue, transaction);
      if (change !== undefined) await this.write(issue.id, change, by, transaction);
      return this.find({ id: issue.id }, transaction);
    });
  }

  /** Writes a change. The caller holds the issue's lock. */
  async write(id: string, change: IssueChange, by: ChangedBy, transaction: Transaction): Promise<void> {
    await transaction.$executeRaw(updateIssue(id, change, by));
  }

  /**
   * Locks an issue until the transaction ends. Uses two statements, because only a second statement sees the links that
   * the previous lock holder wrote.
   */
  async lock(reference: IssueReference, transaction: Transaction): Promise<IssueWithLinks | undefined> {
    const [locked] = await transaction.$queryRaw<{ id: string }[]>`
      SELECT i.id FROM issues i WHERE ${isReferredTo(reference)} FOR NO KEY UPDATE`;
    return locked === undefined ? undefined : this.findWithLinks(locked, transaction);
  }

  /**
   * Locks issues until the transaction ends, in the order of their ids, so that two calls never wait for each other, and
   * passes those that exist to `run`, without their links and descriptions.
   */
  async lockAll<Result>(
    references: readonly IssueReference[],
    run: (issues: (IssueWithLinks & { number: number })[], transaction: Transaction) => Promise<Result>,
    within?: Transaction,
  ): Promise<Result> {
    const locking = async (transaction: Transaction) => {
      const ids = references.flatMap((one) => ('id' in one ? [one.id] : []));
      const numbers = references.flatMap((one) => ('number' in one ? [one.number] : []));
      const locked = await transaction.$queryRaw<{ id: string }[]>`
        SELECT i.id FROM issues i WHERE i.id = ANY(${ids}::uuid[]) OR i.number = ANY(${numbers}::bigint[])
         ORDER BY i.id FOR NO KEY UPDATE`;
      const parts = partsOf(['labels']);
      const issues = Prisma.sql`
        SELECT ${listedColumns(parts)} FROM issues WHERE id = ANY(${locked.map(({ id }) => id)}::uuid[])`;
      const rows = await transaction.$queryRaw<SnapshotRow[]>(selectBareIssues(issues, undefined, { parts }));
      return run(toSnapshots(rows), transaction);
    };
    return within === undefined ? this.#database.$transaction(locking, { timeout: 10_000 }) : locking(within);
  }

  async #readOne(sources: SnapshotSources, within: Transaction): Promise<IssueSnapshot | undefined> {
    const rows = await within.$queryRaw<SnapshotRow[]>(selectSnapshots(sources, this.#tracker));
    return toSnapshots(rows)[0];
  }
}

function updateIssue(
  id: string,
  { fields, mentionIds = [], links, labels, activity }: IssueChange,
  by: ChangedBy,
): Prisma.Sql {
  const participants = [
    ...(fields.assigneeId == null ? [] : [fields.assigneeId]),
    ...(fields.description === undefined ? [] : mentionIds),
  ];
  const isNewVersion = Object.keys(fields).length > 0;
  return Prisma.sql`
    WITH removed AS (${deleteLinks(links.removed.map((link) => link.id))}),
      put AS (${upsertLinks(id, links.put, by.actorId)}),
      logged AS (${insertActivity(id, activity, by)})
      ${participants.length === 0 ? Prisma.empty : Prisma.sql`, watching AS (${startWatchingAs(id, participants)})`}
    UPDATE issues SET
      title = coalesce(${fields.title ?? null}::text, title),
      description = coalesce(${fields.description ?? null}::text, description),
      mention_ids = CASE WHEN ${fields.description !== undefined} THEN ${[...mentionIds]}::uuid[] ELSE mention_ids END,
      priority = coalesce(${fields.priority ?? null}::issue_priority, priority),
      assignee_id = CASE WHEN ${fields.assigneeId !== undefined}
                         THEN ${fields.assigneeId ?? null}::uuid ELSE assignee_id END,
      label_ids = coalesce(${labels?.map((label) => label.id) ?? null}::uuid[], label_ids),
      version = version + ${isNewVersion ? 1 : 0}::int, updated_at = clock_timestamp()
     WHERE id = ${id}::uuid`;
}
