import { type IssueLabel, issueLabelsMax } from '@tessera/contracts';
import { labelKey } from '../issue-core/label.ts';
import type { RemoteLabel, TrackerLabels } from '../trackers/external-tracker.ts';

// Merges labels as sets: each side's additions and removals since the last sync are applied to the other side.

interface LabelSides {
  /** The keys of the labels that both sides had at the last sync. */
  base: readonly string[];
  local: readonly IssueLabel[];
  remote: readonly RemoteLabel[];
  /** The local labels of the remote labels, by key. Remote labels without a local label are ignored and kept. */
  known: ReadonlyMap<string, IssueLabel>;
  tracker: Pick<TrackerLabels, 'holds'>;
}

export interface LabelMerge {
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

/** Adds and removes labels of a remote issue. Creates labels that the project lacks. */
export async function pushLabels(
  tracker: TrackerLabels,
  remoteId: string,
  { add, remove }: LabelMerge['push'],
  signal: AbortSignal,
): Promise<void> {
  const existing = add.length === 0 ? [] : await tracker.list(signal);
  const labels = new Map(existing.map((label) => [labelKey(label.name), label]));
  const added: RemoteLabel[] = [];
  for (const label of add) {
    added.push(labels.get(labelKey(label.name)) ?? (await tracker.create(label, signal)));
  }
  await tracker.change(remoteId, { add: added, remove }, signal);
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
