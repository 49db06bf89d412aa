import { isDeepStrictEqual } from 'node:util';
import type { SyncConflict } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { ActivityEntry } from '../activity/activity-entry.ts';
import type { Clash } from './sync-merge.ts';

/** Newer ones push out older ones, whose values are in the history. */
const conflictsMax = 100;

interface ConflictChange {
  /** All conflicts that stand from now on. */
  conflicts: SyncConflict[];
  /** The history of those that are new, where a value would be found nowhere else. */
  activity: ActivityEntry[];
}

/**
 * The conflicts after a merge. What has been decided stands until somebody has seen to it; what is undecided stands as
 * long as it is so.
 */
export function addClashes(present: readonly SyncConflict[], clashes: readonly Clash[]): ConflictChange {
  const added = clashes
    .filter((clash) => !present.some((conflict) => isSame(conflict, clash)))
    .map((clash): SyncConflict => ({ id: uuidv7(), ...clash, at: new Date().toISOString() }));
  const kept = present.filter(
    (conflict) => isDecided(conflict) || clashes.some((clash) => isSame(conflict, clash)),
  );
  return {
    conflicts: [...kept, ...added].slice(-conflictsMax),
    activity: added.filter(({ kept: side }) => side !== 'remote').map(toEntry),
  };
}

/** A change that the tracker took and did not make. */
export type RefusedChange = Pick<SyncConflict, 'field' | 'local' | 'remote' | 'base'>;

/** The conflicts with what came of reading back; one that stood in `previous` already stays the one it was. */
export function addRefused(
  present: readonly SyncConflict[],
  refused: readonly RefusedChange[],
  previous: readonly SyncConflict[],
): SyncConflict[] {
  const added = refused.map((change): SyncConflict => {
    const before = previous.find((one) => one.reason === 'not_applied' && one.field === change.field);
    const { id, at } = before ?? { id: uuidv7(), at: new Date().toISOString() };
    return { id, ...change, reason: 'not_applied', kept: null, at };
  });
  return [...present, ...added].slice(-conflictsMax);
}

function isDecided({ reason, kept }: SyncConflict): boolean {
  return reason === 'both_changed' && kept !== null;
}

function isSame({ id: _id, at: _at, ...conflict }: SyncConflict, clash: Clash): boolean {
  return isDeepStrictEqual(conflict, { ...clash });
}

function toEntry({ field, local, remote }: SyncConflict): ActivityEntry {
  return { kind: 'sync_conflict', field, old: remote, new: local };
}
