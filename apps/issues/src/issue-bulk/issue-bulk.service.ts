import {
  type BulkChangeBody,
  type BulkResult,
  type IssueLabel,
  type IssueStatus,
  issueLabelsMax,
} from '@tessera/contracts';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { ChangedBy, IssueFields, IssueWithLinks } from '../issue-core/issue.ts';
import { may } from '../issue-core/issue-access.ts';
import { planChange } from '../issue-core/issue-change.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { mayFollow } from '../issue-core/issue-status.ts';
import { isSelf, type PersonResolver } from '../issue-core/person-resolver.ts';
import type { IssueRepository } from '../issue-store/issue.repository.ts';
import type { IssueStatusRepository } from '../issue-store/issue-status.repository.ts';
import type { LabelService } from '../labels/label.service.ts';

interface IssueBulkServiceDependencies {
  issues: IssueRepository;
  statuses: IssueStatusRepository;
  people: PersonResolver;
  labels: Pick<LabelService, 'resolve'>;
}

/** A change of many issues, with resolved people and labels. */
export type BulkChange =
  | { status: IssueStatus }
  | { fields: Pick<IssueFields, 'priority' | 'assigneeId'> }
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
    const { status, priority, assignee_id: id } = body;
    if (status !== undefined) return { status };
    if (priority !== undefined) return { fields: { priority } };
    if (body.labels !== undefined) {
      const [added, removed] = await Promise.all([
        labels.resolve(body.labels.add, 'labels.add'),
        labels.resolve(body.labels.remove, 'labels.remove'),
      ]);
      return { added, removed };
    }
    const isNamed = id !== null && id !== undefined && !isSelf(actor, { id });
    if (isNamed) await people.resolveForAssignment({ id }, 'assignee_id');
    return { fields: { assigneeId: id ?? null } };
  }

  /**
   * Changes the issues in one transaction, under their locks. An issue that cannot be changed does not prevent the
   * others. Returns the outcomes in the order of the references.
   */
  async change(
    actor: Actor,
    references: readonly IssueReference[],
    change: BulkChange,
    requestId: string,
    within?: Transaction,
  ): Promise<BulkOutcome[]> {
    const { issues } = this.#dependencies;
    return issues.lockAll(
      references,
      async (locked, transaction) => {
        const outcomes = new Map<string | number, BulkOutcome>();
        for (const issue of locked) {
          const by = { actorId: actor.id, requestId };
          const outcome = await this.#changeOne(actor, issue, change, by, transaction);
          outcomes.set(issue.id, outcome).set(issue.number, outcome);
        }
        const notFound: BulkOutcome = { outcome: 'refused', code: 'issue_not_found' };
        return references.map((one) => outcomes.get('id' in one ? one.id : one.number) ?? notFound);
      },
      within,
    );
  }

  async #changeOne(
    actor: Actor,
    issue: IssueWithLinks,
    change: BulkChange,
    by: ChangedBy,
    transaction: Transaction,
  ): Promise<BulkOutcome> {
    const { issues, statuses } = this.#dependencies;
    if (!isPermitted(actor, issue, change)) return { outcome: 'refused', code: 'forbidden' };
    if ('status' in change) {
      if (issue.status === change.status) return { outcome: 'unchanged' };
      if (!mayFollow(issue.status, change.status)) return { outcome: 'refused', code: 'illegal_transition' };
      await statuses.walk(issue, [change.status], by, transaction);
      return { outcome: 'changed' };
    }
    const labels = 'added' in change ? labelsAfter(issue.labels, change) : undefined;
    if (labels !== undefined && labels.length > issueLabelsMax)
      return { outcome: 'refused', code: 'too_many_labels' };
    const fields = 'fields' in change ? change.fields : {};
    const planned = planChange(issue, { ...fields, labels, keepTrackerLinks: true });
    if (planned === undefined) return { outcome: 'unchanged' };
    await issues.write(issue.id, planned, by, transaction);
    return { outcome: 'changed' };
  }
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
