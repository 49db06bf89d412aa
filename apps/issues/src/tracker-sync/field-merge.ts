import type { IssuePriority, IssueStatus, SyncedField } from '@tessera/contracts';
import type { ExternalTracker, LocalState, RemoteChange, RemoteIssue } from '../trackers/external-tracker.ts';
import {
  canonicalText,
  canonicalTitle,
  isStorableDescription,
  isStorableTitle,
} from '../trackers/tracker-text.ts';
import type { FieldConflict } from './sync-conflict.ts';

// A three-way merge of each field, without side effects.

/** The side that wins if both sides changed a field. `manual`: neither, until staff decide. */
export type ConflictPolicy = 'local' | 'remote' | 'newest' | 'manual';
export type ConflictPolicies = Readonly<Record<SyncedField, ConflictPolicy>>;

/**
 * The last common values of both sides, by field; absent if there were none. The status is a pair because several local
 * statuses can map to one remote state; `local` is null while a pushed status is not confirmed. `chosen`: staff chose this
 * remote state, which replaces the mapped one as long as the issue has this status.
 */
export interface MergeBase {
  title?: string;
  description?: string;
  priority?: IssuePriority;
  status?: {
    local: IssueStatus | null;
    remote: string;
    chosen?: { status: IssueStatus; state: string } | undefined;
  };
  /** The keys of the labels that both sides had at the last sync. */
  labels?: string[];
}

/** The synced values of the local issue. */
export interface LocalIssue {
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus;
  wasResolved: boolean;
}

/** A change of the local issue; absent members stay unchanged. */
export interface LocalChange {
  title?: string;
  description?: string;
  priority?: IssuePriority;
  status?: IssueStatus;
}

export interface Merge {
  push: RemoteChange;
  pull: LocalChange;
  conflicts: FieldConflict[];
  /** The base of the next merge, as far as it is known before the push. */
  base: MergeBase;
}

export interface MergeInput {
  base: MergeBase;
  local: LocalIssue;
  remote: RemoteIssue;
  tracker: Pick<
    ExternalTracker,
    'hasPriority' | 'stateOf' | 'isReached' | 'statusOf' | 'meaningOf' | 'toFit'
  >;
  policies: ConflictPolicies;
  /** The side that changed a field last; for the policy `newest`. Null if the tracker's history does not tell. */
  newest: (field: SyncedField) => 'local' | 'remote' | null;
}

/** The synced fields, and the members of a remote issue that contain their values. */
export const remoteMembers = [
  ['title', 'title'],
  ['description', 'description'],
  ['priority', 'priority'],
  ['status', 'state'],
] as const;

/** Whether a merge with the policy `newest` needs the times of the changes in the tracker. */
export function needsTimes({
  base,
  remote,
  policies,
}: Pick<MergeInput, 'base' | 'remote' | 'policies'>): boolean {
  return remoteMembers.some(([field, member]) => {
    const { status, ...values } = base;
    const agreed = field === 'status' ? status?.remote : values[field];
    return policies[field] === 'newest' && remote[member] !== agreed;
  });
}

/** Compares both sides with the base, field by field. */
export function mergeIssue(input: MergeInput): Merge {
  const merge: Merge = { push: {}, pull: {}, conflicts: [], base: { ...input.base } };
  mergeText(input, 'title', merge);
  mergeText(input, 'description', merge);
  if (input.tracker.hasPriority) mergePriority(input, merge);
  mergeStatus(input, merge);
  return merge;
}

interface Sides {
  field: SyncedField;
  local: string;
  remote: string;
  base: string | null;
  isEqual: boolean;
  localChanged: boolean;
  remoteChanged: boolean;
  /** Whether the local issue can hold the remote value. */
  isStorable: boolean;
}

interface Decision {
  action: 'none' | 'push' | 'pull';
  /** Whether the current remote value becomes the base. */
  updatesBase: boolean;
}

// A value that is pushed over a remote change becomes the base before the push: an interrupted push is no second conflict.
function decide(sides: Sides, { policies, newest }: MergeInput, conflicts: FieldConflict[]): Decision {
  const { field, local, remote, base, isEqual, localChanged, remoteChanged, isStorable } = sides;
  if (isEqual) return { action: 'none', updatesBase: true };
  if (!remoteChanged) return { action: localChanged ? 'push' : 'none', updatesBase: false };
  if (!isStorable) {
    conflicts.push({ field, reason: 'not_storable', local, remote, base, kept: 'local' });
    return { action: 'none', updatesBase: false };
  }
  if (!localChanged) return { action: 'pull', updatesBase: true };
  const policy = policies[field];
  const kept = policy === 'manual' ? null : policy === 'newest' ? newest(field) : policy;
  conflicts.push({ field, reason: 'both_changed', local, remote, base, kept });
  if (kept === null) return { action: 'none', updatesBase: false };
  return { action: kept === 'local' ? 'push' : 'pull', updatesBase: true };
}

const textRules = {
  title: { canonical: canonicalTitle, isStorable: isStorableTitle },
  description: { canonical: canonicalText, isStorable: isStorableDescription },
} as const;

/** Whether an issue can hold a value of the tracker. */
export function isStorable(field: SyncedField, value: string): boolean {
  return field === 'title' || field === 'description' ? textRules[field].isStorable(value) : true;
}

function mergeText(input: MergeInput, field: 'title' | 'description', merge: Merge): void {
  const { canonical, isStorable } = textRules[field];
  // A base that staff chose by deciding a conflict is not in canonical form.
  const base = field in input.base ? canonical(input.base[field] ?? '') : null;
  const whole = canonical(input.local[field]);
  const local = field === 'title' ? whole : input.tracker.toFit(whole);
  const remote = input.remote[field];
  const sides = compare(field, local, remote, base);
  // Pulling an edit of a text that exceeds the tracker's limit would lose its end.
  const localChanged = sides.localChanged || local !== whole;
  const { action, updatesBase } = decide(
    { ...sides, localChanged, local: input.local[field], isStorable: isStorable(remote) },
    input,
    merge.conflicts,
  );
  if (action === 'push') merge.push[field] = local;
  if (action === 'pull') merge.pull[field] = remote;
  if (updatesBase) merge.base[field] = remote;
}

function mergePriority(input: MergeInput, merge: Merge): void {
  const { local, remote, base } = input;
  // A remote priority without a local equivalent stays unchanged.
  if (remote.priority === null) return;
  const sides = compare('priority', local.priority, remote.priority, base.priority ?? null);
  const { action, updatesBase } = decide({ ...sides, isStorable: true }, input, merge.conflicts);
  if (action === 'push') merge.push.priority = local.priority;
  if (action === 'pull') merge.pull.priority = remote.priority;
  if (updatesBase) merge.base.priority = remote.priority;
}

function compare(field: SyncedField, local: string, remote: string, base: string | null) {
  return {
    field,
    local,
    remote,
    base,
    isEqual: local === remote,
    localChanged: local !== base,
    remoteChanged: remote !== base,
  };
}

/** Returns the local statuses, in order, through which an issue reaches a remote state. */
export function stepsTowards(
  state: string,
  local: IssueStatus,
  tracker: Pick<ExternalTracker, 'statusOf'>,
): IssueStatus[] {
  return stepsFrom(local, (status) => tracker.statusOf(state, status));
}

/** Returns the statuses, in order, that follow `local`, until `next` returns a status that was passed. */
export function stepsFrom(local: IssueStatus, next: (status: IssueStatus) => IssueStatus): IssueStatus[] {
  const steps = [local];
  for (let status = next(local); !steps.includes(status); status = next(status)) steps.push(status);
  return steps.slice(1);
}

/** Whether a local status and a remote state mean the same, as far as the state distinguishes statuses. */
export function isRepresented(
  state: string,
  local: LocalState,
  tracker: Pick<ExternalTracker, 'meaningOf' | 'stateOf'>,
): boolean {
  const meaning = tracker.meaningOf(state);
  return meaning === undefined || meaning === local.status || tracker.stateOf(local) === state;
}

// Statuses and states do not map one to one: only a change on one side moves the other side.
function mergeStatus(input: MergeInput, merge: Merge): void {
  const { tracker, local, remote, base } = input;
  const { chosen } = base.status ?? {};
  const wantedState = chosen?.status === local.status ? chosen.state : tracker.stateOf(local);
  const statusThere = stepsTowards(remote.state, local.status, tracker).at(-1) ?? local.status;
  const isFirst = base.status === undefined;
  const localChanged = local.status !== base.status?.local;
  const { action, updatesBase } = decide(
    {
      field: 'status',
      local: local.status,
      remote: remote.state,
      base: base.status?.remote ?? null,
      isEqual:
        wantedState === remote.state ||
        (localChanged && tracker.isReached(remote.state, wantedState)) ||
        (isFirst && statusThere === local.status),
      localChanged,
      remoteChanged: remote.state !== base.status?.remote,
      isStorable: true,
    },
    input,
    merge.conflicts,
  );
  const status = action === 'pull' ? statusThere : local.status;
  if (status !== local.status) merge.pull.status = status;
  if (action === 'push') merge.push.state = wantedState;
  const isVisible = !isRepresented(remote.state, { status, wasResolved: local.wasResolved }, tracker);
  // Records the difference, because neither side will change and no later merge would report it.
  if (isVisible && action !== 'push' && !merge.conflicts.some(({ field }) => field === 'status')) {
    const values = { local: status, remote: remote.state, base: null };
    merge.conflicts.push({ field: 'status', reason: 'not_representable', ...values, kept: null });
  }
  // Until the tracker shows a pushed state, the local status counts as changed.
  if (updatesBase)
    merge.base.status =
      action === 'push'
        ? { local: null, remote: remote.state, ...(chosen && { chosen }) }
        : { local: status, remote: remote.state };
}
