import type { IssuePriority, IssueStatus, SyncedField } from '@tessera/contracts';
import type { ExternalTracker, RemoteChange, RemoteIssue } from '../trackers/external-tracker.ts';
import {
  canonicalText,
  canonicalTitle,
  isStorableDescription,
  isStorableTitle,
} from '../trackers/tracker-text.ts';

/** Which side wins a field that both have changed; `manual`: neither, until somebody decides. */
export type ConflictPolicy = 'local' | 'remote' | 'newest' | 'manual';
export type ConflictPolicies = Readonly<Record<SyncedField, ConflictPolicy>>;

/**
 * The fields as both sides last agreed on them; absent where they never did. The status is a pair: what it was here, null
 * where that is not agreed, and what it was there.
 */
export interface Agreement {
  title?: string;
  description?: string;
  priority?: IssuePriority;
  status?: { local: IssueStatus | null; remote: string };
}

/** The issue here, as far as it is synced. */
export interface LocalIssue {
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus;
  wasResolved: boolean;
}

/** A change of the issue here; absent means as it is. */
export interface LocalChange {
  title?: string;
  description?: string;
  priority?: IssuePriority;
  status?: IssueStatus;
}

/** A field that cannot have both values. */
export interface Clash {
  field: SyncedField;
  reason: 'both_changed' | 'not_storable';
  local: string;
  remote: string;
  base: string | null;
  kept: 'local' | 'remote' | null;
}

export interface Merge {
  push: RemoteChange;
  pull: LocalChange;
  clashes: Clash[];
  /** The base from now on, as far as it can be known before anything is pushed. */
  agreement: Agreement;
}

export interface MergeInput {
  base: Agreement;
  local: LocalIssue;
  remote: RemoteIssue;
  tracker: Pick<ExternalTracker, 'hasPriority' | 'stateOf' | 'isReached' | 'statusOf'>;
  policies: ConflictPolicies;
  /** Which side changed a field last: asked only where both did and the policy wants to know. */
  newest: (field: SyncedField) => 'local' | 'remote';
}

/** What each side has become since the last agreement says who follows whom, field by field. */
export function mergeIssue(input: MergeInput): Merge {
  const merge: Merge = { push: {}, pull: {}, clashes: [], agreement: { ...input.base } };
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
  /** Whether an issue here could hold what the tracker has. */
  isStorable: boolean;
}

interface Decision {
  do: 'nothing' | 'push' | 'pull';
  /** Whether what the tracker has now is the base from now on. */
  isAgreed: boolean;
}

// The truth table. Where both have changed, the winner's side acts as if the other had not; what is pushed against the
// other side's change counts as agreed at once, so that a push that is cut off is no second clash.
function decide(sides: Sides, { policies, newest }: MergeInput, clashes: Clash[]): Decision {
  const { field, local, remote, base, isEqual, localChanged, remoteChanged, isStorable } = sides;
  if (isEqual) return { do: 'nothing', isAgreed: true };
  if (!remoteChanged) return { do: localChanged ? 'push' : 'nothing', isAgreed: false };
  if (!isStorable) {
    clashes.push({ field, reason: 'not_storable', local, remote, base, kept: 'local' });
    return { do: 'nothing', isAgreed: false };
  }
  if (!localChanged) return { do: 'pull', isAgreed: true };
  const policy = policies[field];
  const kept = policy === 'manual' ? null : policy === 'newest' ? newest(field) : policy;
  clashes.push({ field, reason: 'both_changed', local, remote, base, kept });
  if (kept === null) return { do: 'nothing', isAgreed: false };
  return { do: kept === 'local' ? 'push' : 'pull', isAgreed: true };
}

const textRules = {
  title: { canonical: canonicalTitle, isStorable: isStorableTitle },
  description: { canonical: canonicalText, isStorable: isStorableDescription },
} as const;

function mergeText(input: MergeInput, field: 'title' | 'description', merge: Merge): void {
  const { canonical, isStorable } = textRules[field];
  // What somebody decided to be the base is as it was typed.
  const base = field in input.base ? canonical(input.base[field] ?? '') : null;
  const local = canonical(input.local[field]);
  const remote = input.remote[field];
  const decision = decide(
    { ...compare(field, local, remote, base), local: input.local[field], isStorable: isStorable(remote) },
    input,
    merge.clashes,
  );
  if (decision.do === 'push') merge.push[field] = local;
  if (decision.do === 'pull') merge.pull[field] = remote;
  if (decision.isAgreed) merge.agreement[field] = remote;
}

function mergePriority(input: MergeInput, merge: Merge): void {
  const { local, remote, base } = input;
  // A priority that we have no word for stays as it is there.
  if (remote.priority === null) return;
  const sides = compare('priority', local.priority, remote.priority, base.priority ?? null);
  const decision = decide({ ...sides, isStorable: true }, input, merge.clashes);
  if (decision.do === 'push') merge.push.priority = local.priority;
  if (decision.do === 'pull') merge.pull.priority = remote.priority;
  if (decision.isAgreed) merge.agreement.priority = remote.priority;
}

function compare(field: SyncedField, local: string, remote: string, base: string | null) {
  const isEqual = local === remote;
  return {
    field,
    local,
    remote,
    base,
    isEqual,
    localChanged: local !== base,
    remoteChanged: remote !== base,
  };
}

// Several statuses here may be one there, and the other way round: only a change is followed, and what counts as agreed
// is the pair of what stands here and what stands there.
function mergeStatus(input: MergeInput, merge: Merge): void {
  const { tracker, local, remote, base } = input;
  const wanted = tracker.stateOf(local);
  const lifted = tracker.statusOf(remote.state, local.status);
  const isFirst = base.status === undefined;
  const localChanged = local.status !== base.status?.local;
  const isEqual =
    wanted === remote.state ||
    (localChanged && tracker.isReached(remote.state, wanted)) ||
    (isFirst && lifted === local.status);
  const decision = decide(
    {
      field: 'status',
      local: local.status,
      remote: remote.state,
      base: base.status?.remote ?? null,
      isEqual,
      localChanged,
      remoteChanged: remote.state !== base.status?.remote,
      isStorable: true,
    },
    input,
    merge.clashes,
  );
  const status = decision.do === 'pull' ? lifted : local.status;
  if (status !== local.status) merge.pull.status = status;
  if (decision.do === 'push') merge.push.state = wanted;
  // What is pushed is agreed once the tracker shows it: until then the status here counts as changed.
  const agreed = decision.do === 'push' ? null : status;
  if (decision.isAgreed) merge.agreement.status = { local: agreed, remote: remote.state };
}
