import { type Database, inTransaction, type Transaction } from '../database.ts';
import type { ChangedBy, IssueSnapshot, IssueWithLinks, TrackerIdentity } from '../issue-core/issue.ts';
import { historyOf, type IssueChange } from '../issue-core/issue-change.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { projectArchived, trackerLinked } from '../issue-core/project.ts';
import { changeIssue } from './change.sql.ts';
import { deleteIdleLink, findTrackerLink, lockProject, lockWhole } from './move.sql.ts';
import { IssueReader } from './read.ts';
import { assertHolds, assertHoldsFor, isMoved } from './sight.sql.ts';
import { type SnapshotRow, toSnapshots } from './snapshot.sql.ts';

/** Returns the change that moves an issue. May throw. */
export type DecideMove = (
  issue: IssueWithLinks & Pick<IssueSnapshot, 'project'>,
) => Required<Pick<IssueChange, 'project'>>;

/** Moves issues between projects. */
export class IssueMover {
  readonly #database: Database;
  readonly #reader: IssueReader;
  readonly #tracker: TrackerIdentity | undefined;

  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#reader = new IssueReader(database, tracker);
    this.#tracker = tracker;
  }

  /**
   * Moves an issue under its lock and that of the project, so that no sync begins meanwhile, and the project is not archived. Returns
   * it after the move; undefined if it does not exist.
   */
  async move(
    reference: IssueReference,
    projectId: string,
    by: ChangedBy,
    decide: DecideMove,
    within?: Transaction,
  ): Promise<IssueSnapshot | undefined> {
    const locked = async (transaction: Transaction) => {
      await transaction.$queryRaw(lockWhole(reference));
      // Another statement, because only that sees what the previous holder of the lock wrote.
      const issue = await this.#reader.findWithLinks(reference, transaction);
      if (issue === undefined) return undefined;
      const same = { id: issue.id, scope: reference.scope };
      const change = decide(issue);
      if (issue.projectId === projectId) return this.#reader.find(same, transaction);
      await this.#assertOpen(projectId, transaction);
      await this.#assertNotLinked(issue.id, transaction);
      const write = { where: isMoved(same, projectId), change, history: historyOf(issue, change), by };
      const rows = await transaction.$queryRaw<SnapshotRow[]>(changeIssue(write, this.#tracker));
      if (rows.length === 0) {
        await assertHolds(same, transaction);
        await assertHoldsFor(projectId, reference.scope, transaction);
      }
      return toSnapshots(rows)[0];
    };
    return inTransaction(this.#database, locked, { within });
  }

  async #assertOpen(projectId: string, transaction: Transaction): Promise<void> {
    const [project] = await transaction.$queryRaw<{ isArchived: boolean }[]>(lockProject(projectId));
    if (project?.isArchived !== false) throw projectArchived();
  }

  async #assertNotLinked(issueId: string, transaction: Transaction): Promise<void> {
    if (this.#tracker === undefined) return;
    await transaction.$executeRaw(deleteIdleLink(issueId, this.#tracker));
    const left = await transaction.$queryRaw<unknown[]>(findTrackerLink(issueId, this.#tracker));
    if (left.length > 0) throw trackerLinked();
  }
}
