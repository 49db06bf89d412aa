import { type SyncConflict, type SyncedField, syncedFields } from '@tessera/contracts';
import type { ActivityEntry } from '../activity/activity-entry.ts';
import type { Transaction } from '../database.ts';
import type { IssueStatusRepository } from '../issue-status/issue-status.repository.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import type { ChangedBy, IssueChange, IssueFields, IssueWithLinks } from '../issues/issue.ts';
import { planChange } from '../issues/issue-change.ts';
import type { ExternalTracker, RemoteIssue } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { issueMarker } from '../trackers/tracker-text.ts';
import type { SyncRepository } from './sync.repository.ts';
import { addClashes, addRefused, type RefusedChange } from './sync-conflicts.ts';
import {
  type Agreement,
  type ConflictPolicies,
  type LocalChange,
  type LocalIssue,
  type Merge,
  mergeIssue,
} from './sync-merge.ts';
import type { TrackerLink } from './tracker-link.ts';

interface SyncFieldsDependencies {
  tracker: ExternalTracker;
  issues: IssueRepository;
  statuses: IssueStatusRepository;
  repository: SyncRepository;
  policies: ConflictPolicies;
}

/** What a sync of the fields has moved. */
export interface FieldResult {
  pushed: SyncedField[];
  pulled: SyncedField[];
  /** The last local line of history that the merge took into account. */
  activityId: number;
}

interface Merged extends Merge {
  local: LocalIssue;
  conflicts: SyncConflict[];
  activityId: number;
}

// Somebody who is faster twice in a row is dealt with by the next sync.
const turnsMax = 2;

/** The fields of an issue, in step with the tracker. */
export class SyncFields {
  readonly #dependencies: SyncFieldsDependencies;

  constructor(dependencies: SyncFieldsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads, merges, writes here, writes there, and reads back, since a tracker's answer proves nothing. */
  async sync(link: TrackerLink, remoteId: string, by: ChangedBy, signal: AbortSignal): Promise<FieldResult> {
    const { tracker, repository } = this.#dependencies;
    const pulled = new Set<SyncedField>();
    let { base, conflicts } = link;
    for (let turn = 1; ; turn += 1) {
      const remote = await tracker.get(remoteId, signal);
      const merged = await this.#merge({ ...link, base, conflicts }, remote, by);
      for (const field of fieldsOf(merged.pull)) pulled.add(field);
      base = merged.agreement;
      conflicts = merged.conflicts;
      if (Object.keys(merged.push).length === 0)
        return { pushed: [], pulled: [...pulled], activityId: merged.activityId };
      try {
        await tracker.update(remote, merged.push, issueMarker(link.issueId), signal);
      } catch (error) {
        if (error instanceof TrackerError && error.code === 'tracker_busy' && turn < turnsMax) continue;
        throw error;
      }
      const after = await tracker.get(remoteId, signal);
      const outcome = readBack(merged, remote, after);
      conflicts = addRefused(conflicts, outcome.refused, link.conflicts);
      await repository.recordMerge(link, { base: outcome.base, conflicts, remote: after });
      return { pushed: outcome.applied, pulled: [...pulled], activityId: merged.activityId };
    }
  }

  // Under the lock of the issue's row: what is compared is what is written upon.
  async #merge(link: TrackerLink, remote: RemoteIssue, by: ChangedBy): Promise<Merged> {
    const { issues, statuses, repository, tracker, policies } = this.#dependencies;
    let merged: Merged | undefined;
    await issues.change({ id: link.issueId }, by, async (issue, transaction) => {
      const changedAt = await this.#changesOf(link, transaction);
      const isNewer = (field: SyncedField) =>
        (changedAt.get(field)?.getTime() ?? 0) >= remote.updatedAt.getTime() ? 'local' : 'remote';
      const local = toLocal(issue);
      const merge = mergeIssue({ base: link.base, local, remote, tracker, policies, newest: isNewer });
      const { conflicts, activity } = addClashes(link.conflicts, merge.clashes);
      const activityId = await repository.lastLocalActivity(link.issueId, transaction);
      merged = { ...merge, local, conflicts, activityId };
      await repository.recordMerge(link, { base: merge.agreement, conflicts, remote }, transaction);
      const { status, ...fields } = merge.pull;
      if (status !== undefined) {
        await statuses.change({ seen: issue, status, comment: null, exactly: false }, by, transaction);
      }
      return toChange(issue, fields, activity);
    });
    if (merged === undefined) throw new Error('the issue of a link exists');
    return merged;
  }

  async #changesOf({ issueId }: TrackerLink, within: Transaction): Promise<Map<string, Date>> {
    const { policies, repository } = this.#dependencies;
    const isAsked = Object.values(policies).includes('newest');
    return isAsked ? repository.lastChanges(issueId, within) : new Map();
  }
}

interface ReadBack {
  base: Agreement;
  applied: SyncedField[];
  refused: RefusedChange[];
}

// What is neither what was sent nor what was there before, somebody has changed in between: the next sync sees it as
// their change.
function readBack({ push, agreement, local }: Merged, before: RemoteIssue, after: RemoteIssue): ReadBack {
  const outcome: ReadBack = { base: { ...agreement }, applied: [], refused: [] };
  const judge = (field: SyncedField, member: 'title' | 'description' | 'priority' | 'state') => {
    const { [member]: wanted } = push;
    if (wanted === undefined) return;
    const is = after[member];
    if (is === wanted) outcome.applied.push(field);
    else if (is === before[member]) {
      const shown = field === 'status' ? local.status : wanted;
      outcome.refused.push({ field, local: shown, remote: is ?? '', base: before[member] });
    }
  };
  judge('title', 'title');
  judge('description', 'description');
  judge('priority', 'priority');
  judge('status', 'state');
  for (const field of outcome.applied) {
    if (field === 'status') outcome.base.status = { local: local.status, remote: after.state };
    else Object.assign(outcome.base, { [field]: push[field] });
  }
  return outcome;
}

function toLocal({ title, description, priority, status, resolvedAt }: IssueWithLinks): LocalIssue {
  return { title, description, priority, status, wasResolved: resolvedAt !== null };
}

function toChange(
  issue: IssueWithLinks,
  fields: IssueFields,
  activity: ActivityEntry[],
): IssueChange | undefined {
  const change = planChange(issue, { ...fields, keepTrackerLinks: true });
  if (change !== undefined) return { ...change, activity: [...change.activity, ...activity] };
  return activity.length === 0 ? undefined : { fields: {}, links: { put: [], removed: [] }, activity };
}

function fieldsOf(change: LocalChange): SyncedField[] {
  return syncedFields.filter((field) => field in change);
}
