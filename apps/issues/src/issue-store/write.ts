import { v7 as uuidv7 } from 'uuid';
import { type Database, inTransaction, type Transaction } from '../database.ts';
import { tooManyAttachments } from '../issue-core/attachment.ts';
import {
  type Comment,
  type CommentChange,
  type CommentDraft,
  describeCommentChanges,
  type StoredComment,
} from '../issue-core/comment.ts';
import type {
  ChangedBy,
  IssueSnapshot,
  IssueWithLinks,
  NewIssue,
  TrackerIdentity,
} from '../issue-core/issue.ts';
import { historyOf, type IssueChange } from '../issue-core/issue-change.ts';
import type { IssueName, IssueReference } from '../issue-core/issue-reference.ts';
import { projectArchived } from '../issue-core/project.ts';
import { type ReadScope, systemScope } from '../issue-core/project-access.ts';
import { bindsFiles, namedBy } from './attachment.sql.ts';
import { changeComment, changeIssue, changeSilently, insertIssue, type WrittenChange } from './change.sql.ts';
import { lockIssue, lockIssues } from './issue.sql.ts';
import { IssueReader } from './read.ts';
import { assertHolds, assertHoldsFor, isAt, isWritten } from './sight.sql.ts';
import { type SnapshotRow, selectLocked, toSnapshots } from './snapshot.sql.ts';
import { setWatching } from './watching.sql.ts';

/** Returns the change of an issue; undefined for none. It may throw. If it is called again, its first result had no effect. */
export type Decide<Seen, Change = IssueChange> = (
  seen: Seen,
  transaction: Transaction,
) => Promise<Change | undefined> | Change | undefined;

/** The result of a change; or the change, if nothing was written. */
type Attempt<Result> = { result: Result } | { lost: Pick<WrittenChange, 'change' | 'by'> };

/** A locked issue of many, without its links and description. */
export type LockedIssue = IssueWithLinks & { number: number };

/**
 * With `IssueMover` and `IssueRelater`, the only door through which issues, comments, links, history, watchers and events of issues are
 * written. A change, its history, its events and its new watchers are one statement.
 *
 * `change` and `changeComment` read, decide, and write on the condition that the issue is still at the revision that they
 * have read. If it is not, they do the same again under the lock of the issue. So a decision always holds for the state
 * that it changes, and a change without competitors takes two statements.
 */
export class IssueWriter {
  readonly #database: Database;
  readonly #reader: IssueReader;
  readonly #tracker: TrackerIdentity | undefined;

  /** `tracker`: the configured tracker, whose sync state the snapshots contain. */
  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#reader = new IssueReader(database, tracker);
    this.#tracker = tracker;
  }

  /** Creates an issue. `scope`: from which was decided that the person may. */
  async create(
    issue: NewIssue,
    scope: ReadScope,
    by: ChangedBy & { actorId: string },
    within: Transaction = this.#database,
  ): Promise<IssueSnapshot> {
    const rows = await within.$queryRaw<SnapshotRow[]>(insertIssue(issue, scope, by, this.#tracker));
    const [created] = toSnapshots(rows);
    if (created !== undefined) return created;
    if (issue.projectId === undefined) throw new Error('INSERT … RETURNING returned no row');
    await assertHoldsFor(issue.projectId, scope, within);
    throw projectArchived();
  }

  /** Changes an issue. Returns it after the change; undefined if it does not exist. */
  async change(
    reference: IssueReference,
    by: ChangedBy,
    decide: Decide<IssueWithLinks>,
    within?: Transaction,
  ): Promise<IssueSnapshot | undefined> {
    return this.#decided(reference, within, async (transaction) => {
      const issue = await this.#reader.findWithLinks(reference, transaction);
      if (issue === undefined) return { result: undefined };
      const write = writtenChange(issue, (await decide(issue, transaction)) ?? {}, by, reference.scope);
      if (write.history.length === 0)
        return { result: await this.#reader.find({ id: issue.id, scope: reference.scope }, transaction) };
      const rows = await transaction.$queryRaw<SnapshotRow[]>(changeIssue(write, this.#tracker));
      return written(toSnapshots(rows), write);
    });
  }

  /**
   * Changes an issue under its lock, within a transaction that writes more than the issue. Returns the result of `decide`;
   * undefined if the issue does not exist.
   */
  async changeLocked<Result>(
    id: string,
    by: ChangedBy,
    decide: (issue: IssueWithLinks) => Promise<{ change: IssueChange; result: Result }>,
    transaction: Transaction,
  ): Promise<Result | undefined> {
    const reference = { id, scope: systemScope };
    await transaction.$queryRaw(lockIssue(reference));
    const issue = await this.#reader.findWithLinks(reference, transaction);
    if (issue === undefined) return undefined;
    const { change, result } = await decide(issue);
    await writeLocked(issue, change, by, systemScope, transaction);
    return result;
  }

  /**
   * Changes issues under their locks, which are taken in the order of the ids, so that two calls never wait for each other.
   * Returns what `decide` tells of each issue that exists.
   */
  async changeAll<Outcome>(
    names: readonly IssueName[],
    scope: ReadScope,
    by: ChangedBy,
    decide: (issue: LockedIssue) => { change?: IssueChange | undefined; outcome: Outcome },
    within?: Transaction,
  ): Promise<{ issue: LockedIssue; outcome: Outcome }[]> {
    const locking = async (transaction: Transaction) => {
      const locked = await transaction.$queryRaw<{ id: string }[]>(lockIssues(names, scope));
      const rows = await transaction.$queryRaw<SnapshotRow[]>(selectLocked(locked.map(({ id }) => id)));
      const outcomes: { issue: LockedIssue; outcome: Outcome }[] = [];
      for (const issue of toSnapshots(rows)) {
        const { change, outcome } = decide(issue);
        if (change !== undefined) await writeLocked(issue, change, by, scope, transaction);
        outcomes.push({ issue, outcome });
      }
      return outcomes;
    };
    return inTransaction(this.#database, locking, { within, timeout: 10_000 });
  }

  /**
   * Adds a comment; undefined if the issue does not exist. One statement, because no rule depends on the issue. It locks the
   * row of the issue first, so concurrent comments are stored in the order of their timestamps.
   */
  async addComment(
    reference: IssueReference,
    draft: CommentDraft,
    by: ChangedBy,
    within: Transaction = this.#database,
  ): Promise<Comment | undefined> {
    const [comment] = await within.$queryRaw<Comment[]>(
      changeComment(writtenComment(isWritten(reference), { kind: 'added', id: uuidv7(), draft }, by)),
    );
    if (comment === undefined) await assertHolds(reference, within);
    // Otherwise, only a text with files is refused by an issue that exists.
    const isRefused = comment === undefined && namedBy(by, draft.body).length > 0;
    if (isRefused && (await this.#reader.findState(reference, within)) !== undefined)
      throw tooManyAttachments();
    return comment;
  }

  /**
   * Changes or deletes a comment, which may be deleted already. Returns it after the change; undefined if the issue or the
   * comment does not exist.
   */
  async changeComment(
    reference: IssueReference,
    id: string,
    by: ChangedBy,
    decide: Decide<StoredComment, CommentChange>,
  ): Promise<Comment | undefined> {
    return this.#decided<Comment | undefined>(reference, undefined, async (transaction) => {
      const comment = await this.#reader.findStoredComment(reference, id, transaction);
      if (comment === undefined) return { result: undefined };
      const decided = await decide(comment, transaction);
      if (decided === undefined) return { result: comment };
      const write = writtenComment(isAt(comment.issueId, comment.rev, reference.scope), decided, by);
      return written(await transaction.$queryRaw<Comment[]>(changeComment(write)), write);
    });
  }

  /** Makes a person watch an issue, or stop watching it. Returns the id of the issue; undefined if it does not exist. */
  async setWatching(
    reference: IssueReference,
    userId: string,
    isWatching: boolean,
  ): Promise<string | undefined> {
    const [row] = await this.#database.$queryRaw<{ id: string }[]>(
      setWatching(reference, userId, isWatching),
    );
    if (row === undefined) await assertHolds(reference, this.#database);
    return row?.id;
  }

  // Tries without a lock, and the second time under the lock of the issue, when nothing can come between.
  async #decided<Result>(
    reference: IssueReference,
    within: Transaction | undefined,
    attempt: (transaction: Transaction) => Promise<Attempt<Result>>,
  ): Promise<Result> {
    const first = await attempt(within ?? this.#database);
    if ('result' in first) return first.result;
    const locked = async (transaction: Transaction) => {
      await transaction.$queryRaw(lockIssue(reference));
      // Another statement, because only that sees what the previous holder of the lock wrote.
      const second = await attempt(transaction);
      if ('result' in second) return second.result;
      await assertHolds(reference, transaction);
      throw bindsFiles(second.lost) ? tooManyAttachments() : new Error('a locked issue has changed');
    };
    return inTransaction(this.#database, locked, { within });
  }
}

/** Writes a change of a locked issue with its history and events. */
export async function writeLocked(
  issue: IssueWithLinks,
  change: IssueChange,
  by: ChangedBy,
  scope: ReadScope,
  transaction: Transaction,
): Promise<void> {
  const write = writtenChange(issue, change, by, scope);
  if (write.history.length === 0) return;
  const rows = await transaction.$queryRaw<unknown[]>(changeSilently(write));
  if (rows.length > 0) return;
  await assertHolds({ id: issue.id, scope }, transaction);
  throw new Error('a locked issue has changed');
}

function writtenChange(issue: IssueWithLinks, change: IssueChange, by: ChangedBy, scope: ReadScope) {
  const { id, rev, title, mentionIds: mentionedBefore } = issue;
  const where = isAt(id, rev, scope);
  return { where, change, history: historyOf(issue, change), by, title, mentionedBefore };
}

function writtenComment(where: WrittenChange['where'], change: CommentChange, by: ChangedBy): WrittenChange {
  const comments = [change];
  return { where, change: { comments }, history: describeCommentChanges(comments), by };
}

function written<Row>([row]: Row[], write: WrittenChange): Attempt<Row> {
  return row === undefined ? { lost: write } : { result: row };
}
