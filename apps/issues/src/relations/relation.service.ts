import {
  guestRelationsMax,
  guestRelationsOfOneMax,
  parentLevelsMax,
  type RelationDirection,
  type RelationKind,
  relationChainMax,
  relationsMax,
} from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueSnapshot } from '../issue-core/issue.ts';
import { assertMay, may } from '../issue-core/issue-access.ts';
import { assertFound, type IssueName, type IssueReference } from '../issue-core/issue-reference.ts';
import { assertMatches, type Precondition } from '../issue-core/precondition.ts';
import type { StoredRelation } from '../issue-core/relation.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueRelater } from '../issue-store/relate.ts';
import type { RelationCheck } from '../issue-store/relation.sql.ts';

interface RelationServiceDependencies {
  reader: IssueReader;
  relater: IssueRelater;
}

interface RelationContext {
  precondition: Precondition;
  requestId: string;
}

/** A requested relation to another issue. */
export interface RelationDraft {
  kind: RelationKind;
  direction: RelationDirection;
  /** A parent takes the place of another one. */
  replace: boolean;
  other: IssueName;
}

/** Lists, adds and removes relations between issues. Who may change an issue may relate it to any other one. */
export class RelationService {
  readonly #reader: IssueReader;
  readonly #relater: IssueRelater;

  constructor({ reader, relater }: RelationServiceDependencies) {
    this.#reader = reader;
    this.#relater = relater;
  }

  async list(reference: IssueReference): Promise<StoredRelation[]> {
    return assertFound(await this.#reader.findRelations(reference));
  }

  /** Adds a relation. The same one stays as it is. */
  async put(
    actor: Actor,
    reference: IssueReference,
    { kind, direction, replace, other }: RelationDraft,
    { precondition, requestId }: RelationContext,
  ): Promise<{ issue: IssueSnapshot; relation: StoredRelation; isNew: boolean }> {
    const by = { actorId: actor.id, requestId };
    const replaced =
      replace && kind === 'parent' ? (direction === 'incoming' ? reference : other) : undefined;
    const { id, isNew } = await this.#relater.relate(reference, other, replaced, by, (issue, related) => {
      const found = assertFound(issue);
      assertMay(actor, 'update', found);
      assertMatches(precondition, found);
      if (related === undefined) throw validationProblem([{ field: 'issue', message: 'is not an issue' }]);
      if (related.id === found.id)
        throw validationProblem([{ field: 'issue', message: 'must be another issue' }]);
      const isGuest = !may(actor, 'update', related);
      return { kind, direction, isGuest, mayReplace: direction === 'incoming' || !isGuest, assertAllowed };
    });
    const issue = assertFound(await this.#reader.find(reference));
    const relation = (await this.list(reference)).find((one) => one.id === id);
    if (relation === undefined) throw relationNotFound();
    return { issue, relation, isNew };
  }

  async remove(
    actor: Actor,
    reference: IssueReference,
    id: string,
    { precondition, requestId }: RelationContext,
  ): Promise<void> {
    const by = { actorId: actor.id, requestId };
    await this.#relater.unrelate(reference, id, by, (issue, relation) => {
      const found = assertFound(issue);
      assertMay(actor, 'update', found);
      assertMatches(precondition, found);
      if (relation === undefined) throw relationNotFound();
    });
  }
}

function assertAllowed(check: RelationCheck): void {
  const { hasTooMany, hasTooManyGuests, isCycle, isTooLong, hasParent, levels } = check;
  if (isCycle)
    throw refused(
      'relation_cycle',
      'The relation would lead back to the issue, perhaps through issues that you do not see.',
    );
  if (hasParent)
    throw refused(
      'parent_exists',
      'The part has a parent already. `replace` takes it from a parent that you see.',
    );
  if (levels > parentLevelsMax)
    throw refused('relation_too_deep', `Parents would have more than ${parentLevelsMax} levels.`);
  if (isTooLong)
    throw refused('relation_too_deep', `More than ${relationChainMax} issues would follow the issue.`);
  if (hasTooMany)
    throw validationProblem([
      { field: 'issue', message: `must be at most ${relationsMax} relations on one issue` },
    ]);
  // Otherwise one person could fill the list of another's issue with issues of their own.
  if (hasTooManyGuests)
    throw validationProblem([
      {
        field: 'issue',
        message: `must have at most ${guestRelationsMax} relations by people who may not change it, ${guestRelationsOfOneMax} by each`,
      },
    ]);
}

function refused(code: 'relation_cycle' | 'relation_too_deep' | 'parent_exists', detail: string) {
  return new ProblemError({ status: 409, code, detail });
}

function relationNotFound() {
  return new ProblemError({ status: 404, code: 'relation_not_found', detail: 'There is no such relation.' });
}
