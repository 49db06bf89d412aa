import { isDeepStrictEqual } from 'node:util';
import type { SyncConflict } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { ConflictEntry } from '../issue-core/issue-change.ts';
import type { RemoteIssue } from '../trackers/external-tracker.ts';
import { displayText } from '../trackers/tracker-text.ts';

/** A field whose two values cannot both be kept. */
export type FieldConflict = Omit<SyncConflict, 'id' | 'at'>;

/** A change that the tracker accepted but did not apply. */
export type NotApplied = Pick<SyncConflict, 'field' | 'local' | 'remote' | 'base'>;

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
): { conflicts: SyncConflict[]; entries: ConflictEntry[] } {
  const found = merged.map(withDisplayTexts);
  const staying = present.filter(
    (conflict) => isDecided(conflict) || found.some((other) => isSame(conflict, other)),
  );
  const added = found
    .filter((conflict) => !staying.some((other) => isSame(other, conflict)))
    .map((conflict): SyncConflict => ({ id: uuidv7(), ...conflict, at: new Date().toISOString() }));
  return {
    conflicts: keepNewest([...staying, ...added]),
    entries: added.filter(({ kept }) => kept !== 'remote').map(toEntry),
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
): { conflicts: SyncConflict[]; entries: ConflictEntry[] } {
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

function toEntry({ field, local, remote }: SyncConflict): ConflictEntry {
  return { kind: 'sync_conflict', field, old: remote, new: local };
}
