import type { SyncConflict, SyncResult } from '@tessera/contracts';
import type { Agreement } from './sync-merge.ts';

/** The right to sync an issue, for a while: no other process has it until it ends. */
export interface SyncClaim {
  issueId: string;
  /** Every write under the claim names it, so that what comes too late changes nothing. */
  claimId: string;
}

/** What is known of an issue's counterpart when a sync of it begins. */
export interface TrackerLink extends SyncClaim {
  remoteId: string | null;
  base: Agreement;
  /** When creating was last tried without an outcome that anybody saw; null where it was not. */
  createAttemptedAt: Date | null;
  /** How long ago that was, by the database's clock, in seconds. */
  createAttemptAge: number | null;
  /** Attempts since the last one that succeeded. */
  failures: number;
  conflicts: SyncConflict[];
  requestedBy: string;
}

/** What a sync that succeeded leaves. */
export interface SyncOutcome {
  result: SyncResult;
  /** The last local line of history that the merge took into account. */
  activityId: number;
}
