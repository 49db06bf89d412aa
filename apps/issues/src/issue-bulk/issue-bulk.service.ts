import {
  type BulkChangeBody,
  type BulkResult,
  type IssueLabel,
  type IssueStatus,
  issueLabelsMax,
  type LabelReference,
} from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueFields, IssueWithLinks } from '../issue-core/issue.ts';
import { may, mayBeAssigned } from '../issue-core/issue-access.ts';
import { type IssueChange, planChange } from '../issue-core/issue-change.ts';
import type { IssueName } from '../issue-core/issue-reference.ts';
import { mayFollow } from '../issue-core/issue-status.ts';
import { isSelf, type PersonResolver } from '../issue-core/person.ts';
import type { ProjectAccess, ReadScope } from '../issue-core/project-access.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';
import type { IssueWriter, LockedIssue } from '../issue-store/write.ts';

interface IssueBulkServiceDependencies {
  writer: IssueWriter;
  people: PersonResolver;
  projects: { withKnownKeys(names: readonly IssueName[], scope: ReadScope): Promise<IssueName[]> };
  labels: { resolve(references: readonly LabelReference[], field: string): Promise<IssueLabel[]> };
  access: Pick<AccessReader, 'ofMirrored'>;
}

/** A change of many issues, with resolved people and labels. */
export type BulkChange =
  | { status: IssueStatus }
  | {
      fields: Pick<IssueFields, 'priority' | 'assigneeId' | 'dueOn'>;
      /** What the new assignee may read. */
      assignee?: { id: string; access: ProjectAccess } | undefined;
    }
  | { added: readonly IssueLabel[]; removed: readonly IssueLabel[] };

/** The outcome for one issue. */
export type BulkOutcome = Omit<BulkResult, 'id'>;

/** Makes one change to many issues. */
export class IssueBulkService {
  readonly #dependencies: IssueBulkServiceDependencies;

  constructor(dependencies: IssueBulkServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Looks up the assignee and the labels. Throws a 422 problem if one does not exist. */
  async resolve(actor: Actor, body: BulkChangeBody): Promise<BulkChange> {
    const { people, labels } = this.#dependencies;
    const { status, priority, assignee_id: id, due_on: dueOn } = body;
    if (status !== undefined) return { status };
    if (priority !== undefined) return { fields: { priority } };
    if (dueOn !== undefined) return { fields: { dueOn } };
    if (body.labels !== undefined) {
      const [added, removed] = await Promise.all([
        labels.resolve(body.labels.add, 'labels.add'),
        labels.resolve(body.labels.remove, 'labels.remove'),
      ]);
      const both = added.find(({ id }) => removed.some((label) => label.id === id));
      if (both !== undefined)
        throw validationProblem([{ field: 'labels', message: `must not add and remove "${both.name}"` }]);
      return { added, removed };
    }
    const isNamed = id !== null && id !== undefined && !isSelf(actor, { id });
    if (isNamed) await people.resolveForAssignment({ id }, 'assignee_id');
    const assignee = isNamed ? { id, access: await this.#dependencies.access.ofMirrored(id) } : undefined;
    return { fields: { assigneeId: id ?? null }, assignee };
  }

  /**
   * Changes the issues in one transaction, under their locks. An issue that cannot be changed does not prevent the
   * others. Returns the outcomes in the order of the references.
   */
  async change(
    actor: Actor,
    names: readonly IssueName[],
    change: BulkChange,
    requestId: string,
    within?: Transaction,
  ): Promise<BulkOutcome[]> {
    const { writer, projects } = this.#dependencies;
    const { scope } = actor.access;
    const known = new Set(await projects.withKnownKeys(names, scope));
    const by = { actorId: actor.id, requestId };
    const decide = (issue: LockedIssue) => planOne(actor, issue, change);
    const outcomes = new Map<string | number, BulkOutcome>();
    for (const { issue, outcome } of await writer.changeAll([...known], scope, by, decide, within))
      outcomes.set(issue.id, outcome).set(issue.number, outcome);
    const notFound: BulkOutcome = { outcome: 'refused', code: 'issue_not_found' };
    return names.map((one) =>
      known.has(one) ? (outcomes.get('id' in one ? one.id : one.number) ?? notFound) : notFound,
    );
  }
}

interface OnePlan {
  change?: IssueChange;
  outcome: BulkOutcome;
}

function planOne(actor: Actor, issue: LockedIssue, wanted: BulkChange): OnePlan {
  if (!isPermitted(actor, issue, wanted)) return refused('forbidden');
  if ('fields' in wanted && wanted.assignee !== undefined && !mayBeAssigned(wanted.assignee, issue, actor))
    return refused('cannot_read');
  if ('status' in wanted) {
    if (issue.status === wanted.status) return { outcome: { outcome: 'unchanged' } };
    if (!mayFollow(issue.status, wanted.status)) return refused('illegal_transition');
    return { change: { statuses: [wanted.status] }, outcome: { outcome: 'changed' } };
  }
  const labels = 'added' in wanted ? labelsAfter(issue.labels, wanted) : undefined;
  if (labels !== undefined && labels.length > issueLabelsMax) return refused('too_many_labels');
  const fields = 'fields' in wanted ? wanted.fields : {};
  const change = planChange(issue, { ...fields, labels, keepTrackerLinks: true });
  return change === undefined
    ? { outcome: { outcome: 'unchanged' } }
    : { change, outcome: { outcome: 'changed' } };
}

function refused(code: BulkOutcome['code']): OnePlan {
  return { outcome: { outcome: 'refused', code } };
}

function isPermitted(actor: Actor, issue: IssueWithLinks, change: BulkChange): boolean {
  if ('status' in change) return may(actor, 'changeStatus', issue);
  if (!('fields' in change) || change.fields.assigneeId === undefined) return may(actor, 'update', issue);
  const takes = change.fields.assigneeId === actor.id && issue.assigneeId === null;
  return may(actor, takes ? 'takeUnassigned' : 'assign', issue);
}

function labelsAfter(
  before: readonly IssueLabel[],
  { added, removed }: { added: readonly IssueLabel[]; removed: readonly IssueLabel[] },
): IssueLabel[] {
  const after = new Map([...before, ...added].map((label) => [label.id, label]));
  for (const { id } of removed) after.delete(id);
  return [...after.values()];
}
