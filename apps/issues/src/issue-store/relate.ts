import type { Database, Transaction } from '../database.ts';
import type { ChangedBy, IssueWithLinks } from '../issue-core/issue.ts';
import type { IssueName, IssueReference } from '../issue-core/issue-reference.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import {
  oppositeOf,
  type RelationHistoryEntry,
  relationValue,
  type StoredRelation,
} from '../issue-core/relation.ts';
import { lockIssues } from './issue.sql.ts';
import { IssueReader } from './read.ts';
import {
  checkRelation,
  deleteRelation,
  insertRelation,
  lockRelations,
  type RelationCheck,
} from './relation.sql.ts';
import { type LockedIssue, writeLocked } from './write.ts';

/** A relation to write, in the direction of an issue. `assertAllowed` may throw. */
export interface WantedRelation extends Pick<StoredRelation, 'kind' | 'direction'> {
  /** The person may not change the other issue. */
  isGuest: boolean;
  assertAllowed: (check: RelationCheck) => void;
}

/** Relates issues to each other. */
export class IssueRelater {
  readonly #database: Database;
  readonly #reader: IssueReader;

  constructor(database: Database) {
    this.#database = database;
    this.#reader = new IssueReader(database);
  }

  /**
   * Relates an issue to another one, under the locks of all relations and of both issues, and writes the history of both.
   * `decide` may throw. Returns the id of the relation, and whether it is new.
   */
  async relate(
    reference: IssueReference,
    other: IssueName,
    by: ChangedBy & { actorId: string },
    decide: (issue?: IssueWithLinks, other?: IssueWithLinks) => WantedRelation,
  ): Promise<{ id: string; isNew: boolean }> {
    return this.#database.$transaction(async (transaction) => {
      const [issue, related] = await this.#lockPair([reference, other], reference.scope, transaction);
      const { kind, direction, isGuest, assertAllowed } = decide(issue, related);
      if (issue === undefined || related === undefined) throw new Error('decided without an issue');
      const [sourceId, targetId] = direction === 'outgoing' ? [issue.id, related.id] : [related.id, issue.id];
      const ends = { kind, sourceId, targetId, createdBy: by.actorId, guestOf: isGuest ? related.id : null };
      const [check] = await transaction.$queryRaw<RelationCheck[]>(checkRelation(ends));
      if (check === undefined) throw new Error('a check is one row');
      if (check.existing !== null) return { id: check.existing, isNew: false };
      assertAllowed(check);
      const [row] = await transaction.$queryRaw<{ id: string }[]>(insertRelation(ends));
      await this.#writeRelation('new', { kind, direction }, [issue, related], by, transaction);
      return { id: row?.id ?? '', isNew: true };
    });
  }

  /** Deletes a relation of an issue, and writes the history of both. `decide` may throw. */
  async unrelate(
    reference: IssueReference,
    id: string,
    by: ChangedBy,
    decide: (issue: IssueWithLinks | undefined, relation: StoredRelation | undefined) => void,
  ): Promise<void> {
    await this.#database.$transaction(async (transaction) => {
      await transaction.$queryRaw(lockRelations);
      const relations = await this.#reader.findRelations(reference, transaction);
      const relation = relations?.find((one) => one.id === id);
      const other = relation === undefined ? [] : [{ id: relation.issueId }];
      const [issue, related] = await this.#lockPair([reference, ...other], reference.scope, transaction);
      decide(issue, relation);
      if (issue === undefined || related === undefined || relation === undefined) return;
      await transaction.$executeRaw(deleteRelation(id));
      await this.#writeRelation('old', relation, [issue, related], by, transaction);
    });
  }

  async #lockPair(names: readonly IssueName[], scope: ReadScope, transaction: Transaction) {
    await transaction.$queryRaw(lockRelations);
    await transaction.$queryRaw(lockIssues(names, scope));
    const found: (LockedIssue | undefined)[] = [];
    for (const name of names) found.push(await this.#reader.findWithLinks({ ...name, scope }, transaction));
    return found;
  }

  async #writeRelation(
    side: 'new' | 'old',
    { kind, direction }: Pick<StoredRelation, 'kind' | 'direction'>,
    [issue, other]: readonly [LockedIssue, LockedIssue],
    by: ChangedBy,
    transaction: Transaction,
  ) {
    const entry = (of: Pick<StoredRelation, 'direction'>, to: LockedIssue): RelationHistoryEntry => {
      const value = relationValue({ kind, ...of }, to);
      return side === 'new'
        ? { kind: 'relation_added', new: value }
        : { kind: 'relation_removed', old: value };
    };
    await writeLocked(issue, { relations: [entry({ direction }, other)] }, by, transaction);
    const back = { direction: oppositeOf(direction) };
    await writeLocked(other, { relations: [entry(back, issue)] }, by, transaction);
  }
}
