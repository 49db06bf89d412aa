import type { TimelineOrder } from '@tessera/contracts';
import type { Database, Transaction } from '../database.ts';
import type { Comment, StoredComment } from '../issue-core/comment.ts';
import type { IssueSnapshot, IssueState, IssueWithLinks, TrackerIdentity } from '../issue-core/issue.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { StoredRelation } from '../issue-core/relation.ts';
import type { IssueRevision } from '../issue-core/text-cache.ts';
import { type CommentPlace, selectComment, selectComments, selectStoredComment } from './comment.sql.ts';
import { selectReferred, selectRevision, selectState } from './issue.sql.ts';
import { selectRelations } from './relation.sql.ts';
import {
  allComments,
  allLinks,
  changedParts,
  type SnapshotRow,
  type SnapshotSources,
  selectBareIssues,
  selectSnapshots,
  toSnapshots,
} from './snapshot.sql.ts';

interface RevisionRow {
  branch: number;
  rev: number;
  labelRev: number | null;
  projectRev: number;
  trackerRev?: number | null;
  personId: string | null;
  names: string | null;
}

/** A page of comments, after the last one of the previous page. */
export interface CommentPage {
  limit: number;
  after: CommentPlace | undefined;
  order: TimelineOrder;
}

/** The door to read one issue and its parts. Methods with a transaction parameter run within that transaction. */
export class IssueReader {
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
    return this.#readOne(
      { issues: selectReferred(reference), links: allLinks, comments: allComments },
      within,
    );
  }

  /** Finds the relations of an issue, the oldest first; undefined if the issue does not exist. */
  async findRelations(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<StoredRelation[] | undefined> {
    const rows = await within.$queryRaw<(StoredRelation | { id: null })[]>(selectRelations(reference));
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }

  /** Reads the revision of an issue and the current names of `people`, to validate a cached text. */
  async findRevision(
    reference: IssueReference,
    people: readonly string[],
  ): Promise<IssueRevision | undefined> {
    const rows = await this.#database.$queryRaw<RevisionRow[]>(
      selectRevision(reference, people, this.#tracker),
    );
    const [first] = rows;
    if (first === undefined) return undefined;
    const names = rows.map((row) => [row.personId ?? '', row.names] as const);
    return {
      branch: first.branch,
      rev: first.rev,
      labelRev: first.labelRev,
      projectRev: first.projectRev,
      trackerRev: first.trackerRev,
      names: new Map(first.personId === null ? [] : names),
    };
  }

  /** Finds the fields of an issue on which the rules depend. */
  async findState(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueState | undefined> {
    const [state] = await within.$queryRaw<IssueState[]>(selectState(reference));
    return state;
  }

  /** The same, with its links and labels. */
  async findWithLinks(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<(IssueWithLinks & Pick<IssueSnapshot, 'number' | 'project'>) | undefined> {
    const issues = selectReferred(reference);
    return this.#readOne({ issues, links: allLinks, conflictsBytes: 0, parts: changedParts }, within);
  }

  /** Finds an issue with conflicts of up to `bytesMax` bytes, without links and comments. */
  async findWithConflicts(reference: IssueReference, bytesMax: number): Promise<IssueSnapshot | undefined> {
    const rows = await this.#database.$queryRaw<SnapshotRow[]>(
      selectBareIssues(selectReferred(reference), this.#tracker, { conflictsBytes: bytesMax }),
    );
    return toSnapshots(rows)[0];
  }

  /** Finds a comment that is not deleted. */
  async findComment(reference: IssueReference, id: string): Promise<Comment | undefined> {
    const [comment] = await this.#database.$queryRaw<Comment[]>(selectComment(reference, id));
    return comment;
  }

  /** Finds a comment, which may be deleted, with the state of its issue. */
  async findStoredComment(
    reference: IssueReference,
    id: string,
    within: Transaction = this.#database,
  ): Promise<(StoredComment & { rev: number }) | undefined> {
    const [comment] = await within.$queryRaw<(StoredComment & { rev: number })[]>(
      selectStoredComment(reference, id),
    );
    return comment;
  }

  /** Returns a page of the comments of an issue; undefined if the issue does not exist. */
  async listComments(reference: IssueReference, page: CommentPage): Promise<Comment[] | undefined> {
    const rows = await this.#database.$queryRaw<(Comment | { id: null })[]>(selectComments(reference, page));
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }

  async #readOne(sources: SnapshotSources, within: Transaction): Promise<IssueSnapshot | undefined> {
    const rows = await within.$queryRaw<SnapshotRow[]>(selectSnapshots(sources, this.#tracker));
    return toSnapshots(rows)[0];
  }
}
