import {
  type IssueLabel,
  type IssueStatus,
  type SyncConflict,
  type SyncedField,
  type SyncedPart,
  syncedFields,
} from '@tessera/contracts';
import type { IssueWithLinks } from '../issue-core/issue.ts';
import { type IssueChange, planChange } from '../issue-core/issue-change.ts';
import type { ExternalTracker, RemoteChange, RemoteIssue, RemotePush } from '../trackers/external-tracker.ts';
import {
  type ConflictPolicies,
  type LocalIssue,
  type Merge,
  type MergeBase,
  mergeIssue,
  remoteMembers,
  stepsTowards,
} from './field-merge.ts';
import { hasPush, type LabelMerge, mergeLabels, verifyLabels } from './label-merge.ts';
import { addConflicts, addPushConflicts, type FieldConflict, type NotApplied } from './sync-conflict.ts';

// The decisions of one merge, without side effects: before the push, and after it.

interface BothSides {
  remote: RemoteIssue;
  base: MergeBase;
  conflicts: readonly SyncConflict[];
  /** Conflicts that were found outside the merge of the fields. */
  external: readonly FieldConflict[];
  tracker: ExternalTracker;
  policies: ConflictPolicies;
  /** When each field was last changed, here and in the tracker; for the policy `newest`. */
  changedHere: ReadonlyMap<SyncedField, Date>;
  changedThere: ReadonlyMap<SyncedField, Date>;
  /** The local labels of the new labels of the remote issue, by key. */
  knownLabels: ReadonlyMap<string, IssueLabel>;
}

export interface MergePlan extends Merge {
  local: LocalIssue;
  /** All conflicts of the issue after the merge. */
  allConflicts: SyncConflict[];
  /** Undefined if the tracker has no labels. */
  labels: LabelMerge | undefined;
  hasPush: boolean;
  /** The record of the pushed fields; null if there are none. */
  unverified: UnverifiedPush | null;
  pulled: SyncedPart[];
  /** The change of the local issue, with the history of the conflicts. */
  change: IssueChange;
}

/** Merges the remote issue with the local one, and plans the changes of both. */
export function planMerge(issue: IssueWithLinks, sides: BothSides): MergePlan {
  const { remote, base, conflicts, external, tracker, policies, changedHere, changedThere } = sides;
  const local: LocalIssue = { ...issue, wasResolved: issue.resolvedAt !== null };
  const newest = (field: SyncedField) => {
    const there = changedThere.get(field);
    if (there === undefined) return null;
    return (changedHere.get(field) ?? new Date(0)) >= there ? 'local' : 'remote';
  };
  const merge = mergeIssue({ base, local, remote, tracker, policies, newest });
  const labels = mergeLabelsOf(issue, sides);
  const after = addConflicts(conflicts, [...merge.conflicts, ...external]);
  const { status, ...fields } = merge.pull;
  const change = planChange(issue, { ...fields, labels: labels?.local, keepTrackerLinks: true });
  return {
    ...merge,
    base: { ...merge.base, ...(labels && { labels: labels.base }) },
    local,
    allConflicts: after.conflicts,
    labels,
    hasPush: Object.keys(merge.push).length > 0 || (labels !== undefined && hasPush(labels)),
    unverified: unverifiedPush(merge, local, remote),
    pulled: [
      ...syncedFields.filter((field) => field in merge.pull),
      ...(labels?.isPulled ? (['labels'] as const) : []),
    ],
    change: {
      ...change,
      statuses: status === undefined ? [] : stepsTowards(remote.state, issue.status, tracker),
      conflicts: after.entries,
    },
  };
}

function mergeLabelsOf(
  { labels: local }: IssueWithLinks,
  { tracker: { labels: tracker }, base, remote, knownLabels: known }: BothSides,
): LabelMerge | undefined {
  if (tracker === undefined) return undefined;
  return mergeLabels({ base: base.labels ?? [], local, remote: remote.labels, known, tracker });
}

/** A push until its effect is verified. */
export interface UnverifiedPush extends RemotePush {
  /** The local status that the push sends. */
  status: IssueStatus;
}

/** Returns the record of a push before it is sent; null if there is nothing to push. */
export function unverifiedPush(
  { push }: Pick<Merge, 'push'>,
  local: LocalIssue,
  before: RemoteIssue,
): UnverifiedPush | null {
  if (Object.keys(push).length === 0) return null;
  const { title, description, state, priority } = before;
  const seen = { title, description, state, ...(priority === null ? {} : { priority }) };
  return { seen, wanted: push, seenAt: before.updatedAt.toISOString(), status: local.status };
}

/** Returns the conflicts for values in the tracker that a push replaced without reading them. */
export function overwrittenConflicts(
  { seen, wanted, status }: UnverifiedPush,
  overwritten: RemoteChange,
): FieldConflict[] {
  return remoteMembers.flatMap(([field, member]): FieldConflict[] => {
    const { [member]: remote } = overwritten;
    if (remote === undefined) return [];
    const local = field === 'status' ? status : (wanted[member] ?? '');
    return [{ field, reason: 'overwritten', local, remote, base: seen[member] ?? null, kept: 'local' }];
  });
}

interface PushResult {
  base: MergeBase;
  applied: SyncedField[];
  notApplied: NotApplied[];
}

/**
 * Compares the remote issue after a push with what was pushed. A third value is a change by someone else, which the next
 * sync merges.
 */
export function verifyPush(
  { push, base }: Merge,
  local: LocalIssue,
  { before, after }: { before: RemoteIssue; after: RemoteIssue },
): PushResult {
  const result: PushResult = { base: { ...base }, applied: [], notApplied: [] };
  for (const [field, member] of remoteMembers) {
    const { [member]: wanted } = push;
    if (wanted === undefined) continue;
    if (after[member] === wanted) {
      result.applied.push(field);
      if (field === 'status') result.base.status = { local: local.status, remote: after.state };
      else Object.assign(result.base, { [field]: wanted });
    } else if (after[member] === before[member]) {
      const shown = field === 'status' ? local.status : wanted;
      result.notApplied.push({ field, local: shown, remote: after[member] ?? '', base: before[member] });
    }
  }
  return result;
}

interface PushEffect {
  before: RemoteIssue;
  after: RemoteIssue;
  /** See `overwrittenConflicts`. */
  overwritten: FieldConflict[];
  /** The conflicts before the merge. */
  previous: readonly SyncConflict[];
}

/** Returns what changes after a push: the base and the conflicts, and which parts the tracker applied. */
export function confirmPush(plan: MergePlan, { before, after, overwritten, previous }: PushEffect) {
  const pushed = verifyPush(plan, plan.local, { before, after });
  const labels = plan.labels === undefined ? undefined : verifyLabels(plan.labels, after.labels);
  const applied: SyncedPart[] = [...pushed.applied, ...(labels?.isApplied ? (['labels'] as const) : [])];
  return {
    ...addPushConflicts(plan.allConflicts, { ...pushed, overwritten }, previous),
    base: { ...pushed.base, ...(labels && { labels: labels.base }) },
    applied,
  };
}
