import {
  type IssueLabel,
  type IssueStatus,
  issueLabelsMax,
  type SyncConflict,
  type SyncedField,
  type SyncedPart,
  syncedFields,
} from '@tessera/contracts';
import type { IssueWithLinks } from '../issue-core/issue.ts';
import { type IssueChange, planChange } from '../issue-core/issue-change.ts';
import { labelKey } from '../issue-core/label.ts';
import type {
  ExternalTracker,
  RemoteChange,
  RemoteIssue,
  RemoteLabel,
  RemotePush,
  TrackerLabels,
} from '../trackers/external-tracker.ts';
import {
  type ConflictPolicies,
  type LocalIssue,
  type Merge,
  type MergeBase,
  mergeIssue,
  remoteMembers,
  stepsTowards,
} from './field-merge.ts';
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
  const { remote, base, conflicts, external, tracker, policies, changedHere, changedThere, knownLabels } =
    sides;
  const local: LocalIssue = { ...issue, wasResolved: issue.resolvedAt !== null };
  const newest = (field: SyncedField) => {
    const there = changedThere.get(field);
    if (there === undefined) return null;
    return (changedHere.get(field) ?? new Date(0)) >= there ? 'local' : 'remote';
  };
  const merge = mergeIssue({ base, local, remote, tracker, policies, newest });
  const labels =
    tracker.labels &&
    mergeLabels({
      base: base.labels ?? [],
      local: issue.labels,
      remote: remote.labels,
      known: knownLabels,
      tracker: tracker.labels,
    });
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

interface LabelSides {
  /** The keys of the labels that both sides had at the last sync. */
  base: readonly string[];
  local: readonly IssueLabel[];
  remote: readonly RemoteLabel[];
  /** The local labels of the remote labels, by key. Remote labels without a local label are ignored and kept. */
  known: ReadonlyMap<string, IssueLabel>;
  tracker: Pick<TrackerLabels, 'holds'>;
}

interface LabelMerge {
  /** All labels of the local issue after the merge. */
  local: IssueLabel[];
  /** Whether the merge changes the local labels. */
  isPulled: boolean;
  push: { add: IssueLabel[]; remove: RemoteLabel[] };
  /**
   * The base of the next merge before the push. A label whose removal is pushed stays in the base until the tracker has
   * removed it.
   */
  base: string[];
}

/** Merges labels as sets: each side's additions and removals since the last sync are applied to the other side. */
export function mergeLabels({ base, local, remote, known, tracker }: LabelSides): LabelMerge {
  const isAgreed = (key: string) => base.includes(key);
  const here = new Map(local.map((label) => [labelKey(label.name), label]));
  const there = new Set(remote.map(({ name }) => labelKey(name)));
  const kept = [...here].filter(([key]) => there.has(key) || !isAgreed(key));
  const added = [...there]
    .filter((key) => !isAgreed(key) && !here.has(key))
    .flatMap((key) => {
      const label = known.get(key);
      return label === undefined ? [] : [[key, label] as const];
    })
    .slice(0, Math.max(0, issueLabelsMax - kept.length));
  const merged = [...kept, ...added];
  const removed = [...there].filter((key) => isAgreed(key) && !here.has(key));
  return {
    local: merged.map(([, label]) => label),
    isPulled: added.length > 0 || kept.length < local.length,
    push: {
      add: kept.flatMap(([key, label]) => (there.has(key) || !tracker.holds(label.name) ? [] : [label])),
      remove: remote.filter(({ name }) => removed.includes(labelKey(name))),
    },
    base: [...merged.flatMap(([key]) => (there.has(key) ? [key] : [])), ...removed],
  };
}

export function hasPush({ push }: LabelMerge): boolean {
  return push.add.length + push.remove.length > 0;
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

/**
 * Returns the base of the next merge after a push, from the labels of the remote issue, and whether the push took
 * effect.
 */
export function verifyLabels(
  { push, base }: LabelMerge,
  after: readonly RemoteLabel[],
): { base: string[]; isApplied: boolean } {
  const there = new Set(after.map(({ name }) => labelKey(name)));
  const added = push.add.map(({ name }) => labelKey(name)).filter((key) => there.has(key));
  const gone = push.remove.map(({ name }) => labelKey(name)).filter((key) => !there.has(key));
  return {
    base: [...base.filter((key) => !gone.includes(key)), ...added],
    isApplied: added.length + gone.length > 0,
  };
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
