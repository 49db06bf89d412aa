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
  /** The person may take the part from another parent. */
  mayReplace: boolean;
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
   * @param part the one of both whose parent, if the reader sees it, the relation replaces
   */
  async relate(
    reference: IssueReference,
    other: IssueName,
    part: IssueName | undefined,
    by: ChangedBy & { actorId: string },
    decide: (issue?: IssueWithLinks, other?: IssueWithLinks) => WantedRelation,
  ): Promise<{ id: string; isNew: boolean }> {
    return this.#database.$transaction(async (transaction) => {
      const { scope } = reference;
      await transaction.$queryRaw(lockRelations);
      const former = part && (await this.#parentOf({ ...part, scope }, transaction));
      const names = [reference, other, ...(former === undefined ? [] : [{ id: former.issueId }])];
      const [issue, related, parent] = await this.#lock(names, scope, transaction);
      const { kind, direction, isGuest, mayReplace, assertAllowed } = decide(issue, related);
      if (issue === undefined || related === undefined) throw new Error('decided without an issue');
      const replaced = mayReplace && parent !== undefined ? former : undefined;
      const [sourceId, targetId] = direction === 'outgoing' ? [issue.id, related.id] : [related.id, issue.id];
      const ends = { kind, sourceId, targetId, createdBy: by.actorId, guestOf: isGuest ? related.id : null };
      const [check] = await transaction.$queryRaw<RelationCheck[]>(checkRelation(ends));
      if (check === undefined) throw new Error('a check is one row');
      if (check.existing !== null) return { id: check.existing, isNew: false };
      assertAllowed({ ...check, hasParent: check.hasParent && replaced === undefined });
      if (replaced !== undefined) await transaction.$executeRaw(deleteRelation(replaced.id));
      const [row] = await transaction.$queryRaw<{ id: string }[]>(insertRelation(ends));
      const child = direction === 'incoming' ? issue : related;
      await writeRelations(
        [
          ...(replaced === undefined || parent === undefined
            ? []
            : [{ side: 'old', relation: replaced, of: [child, parent] } as const]),
          { side: 'new', relation: { kind, direction }, of: [issue, related] },
        ],
        by,
        scope,
        transaction,
      );
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
      const [issue, related] = await this.#lock([reference, ...other], reference.scope, transaction);
      decide(issue, relation);
      if (issue === undefined || related === undefined || relation === undefined) return;
      await transaction.$executeRaw(deleteRelation(id));
      await writeRelations(
        [{ side: 'old', relation, of: [issue, related] }],
        by,
        reference.scope,
        transaction,
      );
    });
  }

  async #parentOf(part: IssueReference, transaction: Transaction): Promise<StoredRelation | undefined> {
    const relations = await this.#reader.findRelations(part, transaction);
    return relations?.find(({ kind, direction }) => kind === 'parent' && direction === 'incoming');
  }

  async #lock(names: readonly IssueName[], scope: ReadScope, transaction: Transaction) {
    await transaction.$queryRaw(lockIssues(names, scope));
    const found: (LockedIssue | undefined)[] = [];
    for (const name of names) found.push(await this.#reader.findWithLinks({ ...name, scope }, transaction));
    return found;
  }
}

interface RelationChange {
  side: 'new' | 'old';
  /** As the first issue sees it. */
  relation: Pick<StoredRelation, 'kind' | 'direction'>;
  of: readonly [LockedIssue, LockedIssue];
}

/** Writes the history of all issues of the changes, each issue once. */
async function writeRelations(
  changes: readonly RelationChange[],
  by: ChangedBy,
  scope: ReadScope,
  transaction: Transaction,
): Promise<void> {
  const written = new Map<LockedIssue, RelationHistoryEntry[]>();
  for (const { side, relation, of } of changes) {
    const [issue, other] = of;
    for (const [seenBy, to, direction] of [
      [issue, other, relation.direction],
      [other, issue, oppositeOf(relation.direction)],
    ] as const) {
      const value = relationValue({ kind: relation.kind, direction }, to);
      const entry: RelationHistoryEntry =
        side === 'new' ? { kind: 'relation_added', new: value } : { kind: 'relation_removed', old: value };
      written.set(seenBy, [...(written.get(seenBy) ?? []), entry]);
    }
  }
  for (const [issue, relations] of written) await writeLocked(issue, { relations }, by, scope, transaction);
}
