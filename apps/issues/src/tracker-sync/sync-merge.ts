import { isDeepStrictEqual } from 'node:util';
import {
  commentMaxLength,
  type IssuePriority,
  type IssueStatus,
  type SyncConflict,
  type SyncedField,
} from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { ActivityEntry } from '../issue-core/activity-entry.ts';
import type {
  ExternalTracker,
  LocalState,
  RemoteChange,
  RemoteComment,
  RemoteDraft,
  RemoteIssue,
  RemotePush,
} from '../trackers/external-tracker.ts';
import {
  canonicalText,
  canonicalTitle,
  commentText,
  cutText,
  displayText,
  isStorableDescription,
  isStorableTitle,
  markedComment,
  storableDescription,
  storableTitle,
} from '../trackers/tracker-text.ts';

// The decisions of a sync, without side effects: a three-way merge of each field, conflicts, and which comments to copy.

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

/** A field whose two values cannot both be kept. */
export type FieldConflict = Omit<SyncConflict, 'id' | 'at'>;

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

/** Returns the fields of the remote issue to create. */
export function draftOf(
  { title, description, priority }: Pick<LocalIssue, keyof RemoteDraft>,
  tracker: Pick<ExternalTracker, 'toFit'>,
): RemoteDraft {
  return {
    title: canonicalTitle(title),
    description: tracker.toFit(canonicalText(description)),
    priority,
  };
}

/**
 * Returns the base after creating a remote issue: the values that the tracker returned. A value that it did not apply
 * is pushed next.
 */
export function baseOfCreated({ title, description, priority, state }: RemoteIssue): MergeBase {
  return {
    title,
    description,
    ...(priority === null ? {} : { priority }),
    status: { local: 'OPEN', remote: state },
  };
}

/**
 * Returns the base after finding the remote issue of an earlier attempt: the values that were sent, so that later edits
 * in the tracker are pulled.
 */
export function baseOfAdopted(draft: MergeBase, tracker: Pick<ExternalTracker, 'stateOf'>): MergeBase {
  const state = tracker.stateOf({ status: 'OPEN', wasResolved: false });
  return { ...draft, status: { local: 'OPEN', remote: state } };
}

/**
 * Returns the local issue for a remote one, and the base of its first merge. A text that exceeds the local limit is
 * cut; the merge records the conflict.
 */
export function issueOf(
  remote: RemoteIssue,
  tracker: Pick<ExternalTracker, 'meaningOf' | 'statusOf'>,
): Omit<LocalIssue, 'wasResolved'> & { base: MergeBase } {
  const title = storableTitle(remote.title, remote.key);
  const description = storableDescription(remote.description);
  const status =
    tracker.meaningOf(remote.state) ?? stepsTowards(remote.state, 'OPEN', tracker).at(-1) ?? 'OPEN';
  return {
    title,
    description,
    priority: remote.priority ?? 'MEDIUM',
    status,
    base: {
      title,
      description,
      ...(remote.priority === null ? {} : { priority: remote.priority }),
      status: { local: status, remote: remote.state },
    },
  };
}

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

/** A change that the tracker accepted but did not apply. */
export type NotApplied = Pick<SyncConflict, 'field' | 'local' | 'remote' | 'base'>;

interface PushResult {
  base: MergeBase;
  applied: SyncedField[];
  notApplied: NotApplied[];
}

const remoteMembers = [
  ['title', 'title'],
  ['description', 'description'],
  ['priority', 'priority'],
  ['status', 'state'],
] as const;

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

/** Maximum number of conflicts. Further conflicts replace the oldest, whose values stay in the history. */
const conflictsMax = 100;
const conflictsBytesMax = 800 * 1024;

function keepNewest(conflicts: readonly SyncConflict[]): SyncConflict[] {
  let bytes = 0;
  const newest = conflicts.slice(-conflictsMax);
  const first = newest.findLastIndex((conflict) => {
    bytes += Buffer.byteLength(JSON.stringify(conflict));
    return bytes > conflictsBytesMax;
  });
  return newest.slice(first + 1);
}

function withDisplayTexts<Texts extends Pick<FieldConflict, 'local' | 'remote' | 'base'>>(
  texts: Texts,
): Texts {
  const { local, remote, base } = texts;
  return {
    ...texts,
    local: displayText(local),
    remote: displayText(remote),
    base: base === null ? null : displayText(base),
  };
}

/**
 * Returns the conflicts after a merge, and history entries for new conflicts whose value would be lost. A decided
 * conflict stays until staff remove it; an open conflict stays as long as the merge finds it.
 */
export function addConflicts(
  present: readonly SyncConflict[],
  merged: readonly FieldConflict[],
): { conflicts: SyncConflict[]; activity: ActivityEntry[] } {
  const found = merged.map(withDisplayTexts);
  const staying = present.filter(
    (conflict) => isDecided(conflict) || found.some((other) => isSame(conflict, other)),
  );
  const added = found
    .filter((conflict) => !staying.some((other) => isSame(other, conflict)))
    .map((conflict): SyncConflict => ({ id: uuidv7(), ...conflict, at: new Date().toISOString() }));
  return {
    conflicts: keepNewest([...staying, ...added]),
    activity: added.filter(({ kept }) => kept !== 'remote').map(toActivity),
  };
}

/** Remote issues with the marker of an issue, other than the bound remote issue. */
export interface OtherRemotes {
  /** Remote issues that were created for this issue. */
  duplicates: readonly RemoteIssue[];
  /** Remote issues that were created for another issue, or that contain the marker in another place. */
  copies: readonly RemoteIssue[];
}

export function externalConflicts(own: RemoteIssue, { duplicates, copies }: OtherRemotes): FieldConflict[] {
  const toConflict =
    (reason: SyncConflict['reason']) =>
    ({ url }: RemoteIssue): FieldConflict => ({
      field: 'external',
      reason,
      local: own.url,
      remote: url,
      base: null,
      kept: 'local',
    });
  const found = [
    ...duplicates.map(toConflict('duplicate_remote')),
    ...copies.map(toConflict('marker_copied')),
  ];
  return found.slice(0, conflictsMax);
}

/**
 * Returns the conflicts after a push, and history entries for the values that it replaced. `previous`: the conflicts
 * before the merge, whose ids and times are kept.
 */
export function addPushConflicts(
  merged: readonly SyncConflict[],
  { notApplied: changes, overwritten }: { notApplied: readonly NotApplied[]; overwritten: FieldConflict[] },
  previous: readonly SyncConflict[],
): { conflicts: SyncConflict[]; activity: ActivityEntry[] } {
  const replaced = addConflicts(merged, [...merged, ...overwritten]);
  const added = changes.map(withDisplayTexts).map((change): SyncConflict => {
    const known = previous.find(({ reason, field }) => reason === 'not_applied' && field === change.field);
    const { id, at } = known ?? { id: uuidv7(), at: new Date().toISOString() };
    return { id, ...change, reason: 'not_applied', kept: null, at };
  });
  return { ...replaced, conflicts: keepNewest([...replaced.conflicts, ...added]) };
}

function isDecided({ field, reason, kept }: SyncConflict): boolean {
  return field === 'external' || reason === 'overwritten' || (reason === 'both_changed' && kept !== null);
}

function isSame(left: FieldConflict, right: FieldConflict): boolean {
  const [one, other] = [left, right].map(({ field, reason, local, remote, base, kept }) => ({
    field,
    reason,
    local,
    remote,
    base,
    kept,
  }));
  return isDeepStrictEqual(one, other);
}

function toActivity({ field, local, remote }: SyncConflict): ActivityEntry {
  return { kind: 'sync_conflict', field, old: remote, new: local };
}

/** A local comment that is not known to be in the tracker. */
export interface UnsentComment {
  id: string;
  body: string;
  /** The text that was sent, if the comment has been changed since; otherwise null. */
  sentBody: string | null;
  username: string | null;
  /** Seconds since it was sent without a known outcome; null if it was not. */
  attemptAge: number | null;
}

/** A remote comment to add to the local issue. */
export interface NewRemoteComment {
  remoteId: string;
  body: string;
  author: string | null;
  createdAt: Date;
}

interface CommentPlan {
  /** Local comments that the remote issue contains: the response was lost, or the issue is attached again. */
  arrived: { commentId: string; remoteId: string }[];
  pull: NewRemoteComment[];
  push: UnsentComment[];
}

type Original = Pick<UnsentComment, 'username' | 'body' | 'sentBody'>;

interface CommentState {
  unsent: readonly UnsentComment[];
  /** The local comments that `claimedComments` returned, by id. */
  claimed: ReadonlyMap<string, Original>;
  toFit: ExternalTracker['toFit'];
}

/** Returns the ids of the local comments whose markers the remote comments contain. */
export function claimedComments(remote: readonly RemoteComment[]): string[] {
  return remote.map(({ body }) => markedComment(body)).filter((id) => id !== undefined);
}

/**
 * Returns the comments that only one side has. `remote`: the remote comments that are not known to be on both sides.
 */
export function planComments(
  remote: readonly RemoteComment[],
  { unsent, claimed, toFit }: CommentState,
): CommentPlan {
  const waiting = new Map(unsent.map((comment) => [comment.id, comment]));
  // Prepared once: many remote comments can contain the marker of one local comment.
  const ownTexts = new Map<string, string[]>();
  const isOwnText = (remoteBody: string, id: string, { username, body, sentBody }: Original) => {
    const bodies = sentBody === null ? [body] : [body, sentBody];
    const texts = ownTexts.get(id) ?? bodies.map((text) => canonicalText(toFit(commentText(username, text))));
    ownTexts.set(id, texts);
    return texts.includes(canonicalText(remoteBody));
  };
  const plan: CommentPlan = { arrived: [], pull: [], push: [] };
  for (const { id: remoteId, body, author, createdAt } of remote) {
    const commentId = markedComment(body) ?? '';
    const original = claimed.get(commentId);
    const own = waiting.get(commentId);
    // A marker does not prove authorship: anyone can copy one. The second copy of a comment that was sent twice has its
    // text, and so have the comments of a remote issue that is attached again.
    if (own !== undefined && (own.attemptAge !== null || isOwnText(body, own.id, own))) {
      waiting.delete(own.id);
      plan.arrived.push({ commentId: own.id, remoteId });
    } else if (original === undefined || !isOwnText(body, commentId, original)) {
      const text = cutText(canonicalText(body), commentMaxLength);
      if (text !== '') plan.pull.push({ remoteId, body: text, author, createdAt });
    }
  }
  plan.push = [...waiting.values()];
  return plan;
}
