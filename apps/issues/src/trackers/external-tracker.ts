import type { IssuePriority, IssueStatus, SyncedField, TrackerProvider } from '@tessera/contracts';
import { mayFollow } from '../issue-core/issue-status.ts';
import type { TrackerCheck } from './tracker-check.ts';
import type { TrackerError } from './tracker-error.ts';
import { endMarker, issueOfMarker } from './tracker-text.ts';

/** A label in the tracker. */
export interface RemoteLabel {
  /** The id or the name by which the tracker's requests refer to the label. */
  ref: string;
  name: string;
  /** `#rrggbb`; null if the tracker does not return it. */
  color: string | null;
}

/** The labels of a tracker's project and of its issues. */
export interface TrackerLabels {
  /** Whether the tracker can have a label with this name. */
  holds(name: string): boolean;
  list(signal: AbortSignal): Promise<RemoteLabel[]>;
  /** Creates a label that was not in the list, unless the owner of the project shares one with this name. */
  create(label: { name: string; color: string }, signal: AbortSignal): Promise<RemoteLabel>;
  /** Adds and removes labels of an issue. Keeps labels that others add concurrently. */
  change(
    id: string,
    change: { add: readonly RemoteLabel[]; remove: readonly RemoteLabel[] },
    signal: AbortSignal,
  ): Promise<void>;
}

/** An issue in the tracker, its texts in canonical form (see `tracker-text.ts`). */
export interface RemoteIssue {
  /** The id that the tracker's API uses within the project. */
  id: string;
  /** The id that the tracker shows to people, such as `#17`. */
  key: string;
  url: string;
  title: string;
  description: string;
  /** The marker on the last line of the description. */
  marker: string | null;
  /** Whether only some users of the project can see the issue. */
  isPrivate: boolean;
  /** The name of the tracker's own status. */
  state: string;
  /** Null if the tracker has no priorities, or its value has no local equivalent. */
  priority: IssuePriority | null;
  /** The labels of the issue; empty if the tracker has no labels. */
  labels: RemoteLabel[];
  createdAt: Date;
  updatedAt: Date;
  /** The time of the read by the tracker's clock, or an earlier time if the exact time is unknown. */
  readAt: Date;
  /** Null if the tracker does not count them. */
  commentsCount: number | null;
  /** Version of the content, if the tracker accepts one as a precondition of an update. */
  revision: string | null;
}

/** A remote issue in a list of changes. */
export interface RemoteStamp {
  id: string;
  updatedAt: Date;
}

/** A changed remote issue. */
export interface ChangedIssue extends RemoteStamp {
  createdAt: Date;
  /** The local issue that the marker at the end of its description names; null if there is none. */
  markedId: string | null;
}

/** A page of the issues that were updated since a time. */
export interface ChangedPage {
  issues: ChangedIssue[];
  hasNext: boolean;
}

/** A user of the tracker. */
export interface RemotePerson {
  /** The login, or the display name if the tracker does not show logins. */
  name: string;
  /** Null if the tracker does not show it to our account. */
  email: string | null;
}

/** A remote issue with the data that only an import uses. */
export interface ListedIssue extends RemoteIssue {
  author: string | null;
  /** The author's login, or the number of the account if the tracker does not show logins. */
  authorId: string | null;
  assignee: RemotePerson | null;
}

/** A page of the project's issues. */
export interface IssuePage {
  issues: ListedIssue[];
  hasNext: boolean;
}

/** A page of the issues that were updated at or after `since`; pages are numbered from 1. */
export interface ListPosition {
  since: Date;
  page: number;
}

export interface RemoteComment {
  id: string;
  /** The text as stored in the tracker, including our marker. */
  body: string;
  author: string | null;
  createdAt: Date;
}

/** An update of a remote issue; absent members stay unchanged. */
export interface RemoteChange {
  title?: string;
  description?: string;
  state?: string;
  priority?: IssuePriority;
}

/** An update of a remote issue that was read as `seen` before. */
export interface RemotePush {
  seen: RemoteChange;
  wanted: RemoteChange;
  /** The remote issue's `updatedAt` before the update, in RFC 3339. */
  seenAt: string;
}

/** A new remote issue; it starts in the tracker's initial state. */
export interface RemoteDraft {
  title: string;
  description: string;
  priority: IssuePriority;
}

/** The local values that determine the remote state. */
export interface LocalState {
  status: IssueStatus;
  /** Whether the issue was resolved before it was closed. */
  wasResolved: boolean;
}

/**
 * An external tracker. Every method throws `TrackerError` only. Writes are sent once: only the caller knows whether a
 * second attempt is safe.
 */
export interface ExternalTracker {
  readonly provider: TrackerProvider;
  readonly project: string;
  /** Whether remote issues have a priority. */
  readonly hasPriority: boolean;
  /** Undefined if the tracker has no labels. */
  readonly labels: TrackerLabels | undefined;
  /** How long an issue or comment can be missing from the tracker's lists after the request that created it. */
  readonly settleSeconds: number;
  /** Whether `listChanged` lists the issues by the time of their last update. */
  readonly ordersChanges: boolean;
  /** Whether a comment can become public without a change of the issue's `updatedAt`. */
  readonly publishesLate: boolean;
  /** Whether requests are not sent for a while, because several failed in a row. */
  readonly isPaused: boolean;

  /** Returns the problem that prevents every sync (credentials, project or permission); undefined if there is none. */
  findProblem(signal: AbortSignal): Promise<TrackerError | undefined>;
  /**
   * Checks the permissions that syncs need, and whether the configured names exist. Requires that `findProblem` found
   * no problem.
   */
  checkSettings(signal: AbortSignal): Promise<TrackerCheck[]>;
  /** Returns the `authorId` of the issues that our account creates. */
  findAccount(signal: AbortSignal): Promise<string>;
  /** Returns the text, cut to the tracker's maximum length. */
  toFit(text: string): string;
  /** Creates an issue with the marker in its description. `findByMarker` finds the issue by it. */
  create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue>;
  /** Reads an issue. Throws `remote_gone` or `remote_moved` if it no longer exists in the project. */
  get(id: string, signal: AbortSignal): Promise<RemoteIssue>;
  /**
   * Updates an issue that was just read as `seen`. Success does not prove that the tracker applied the change: read the
   * issue again. Throws `tracker_busy` if the tracker reports a newer version.
   */
  update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns the values that an update replaced without having been read before, as far as the tracker's history
   * contains values.
   */
  findOverwritten(id: string, push: RemotePush, signal: AbortSignal): Promise<RemoteChange>;
  /** Returns the time of the last change of each field by a person, as far as the tracker's history contains it. */
  changeTimes(id: string, signal: AbortSignal): Promise<Map<SyncedField, Date>>;
  /** Returns the issues with the marker that our account created since a time, oldest first. */
  findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]>;
  /** Returns a page of the issues that were updated at or after a time. A new comment counts as an update. */
  listChanged(position: ListPosition, signal: AbortSignal): Promise<ChangedPage>;
  /** Returns the same page with the content of the issues. */
  listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage>;
  /** Returns the public comments whose ids satisfy `isWanted`, oldest first. */
  listComments(id: string, isWanted: (id: string) => boolean, signal: AbortSignal): Promise<RemoteComment[]>;
  /** Adds a comment and returns its id. */
  addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string>;

  /** Returns the remote state for a local issue. */
  stateOf(local: LocalState): string;
  /** Whether the tracker cannot move an issue from `state` closer to `wanted`. */
  isReached(state: string, wanted: string): boolean;
  /**
   * Returns the local status that corresponds to a remote state; undefined if the state only distinguishes open from
   * closed.
   */
  meaningOf(state: string): IssueStatus | undefined;
  /** Returns the local status for a remote state: the current status, or a status that the workflow allows next. */
  statusOf(state: string, local: IssueStatus): IssueStatus;
}

/** Whether two names of statuses, priorities or types are equal, ignoring case and surrounding white space. */
export function isSameName(left: string, right: string): boolean {
  return left.trim().toLowerCase() === right.trim().toLowerCase();
}

/**
 * Returns the position of the next page. If the tracker can order issues by their last update, the next page begins at
 * the time of the previous page's last issue: an issue that changes meanwhile moves to the end of the list, and page
 * numbers would then skip an issue.
 */
export function positionAfter(
  { since, page }: ListPosition,
  issues: readonly RemoteStamp[],
  { ordersChanges }: Pick<ExternalTracker, 'ordersChanges'>,
): ListPosition {
  const newest = ordersChanges ? newestOf(issues, since) : since;
  return newest > since ? { since: newest, page: 1 } : { since, page: page + 1 };
}

/** Returns the latest `updatedAt` of a list, but at least `atLeast`. */
export function newestOf(issues: readonly RemoteStamp[], atLeast: Date): Date {
  const times = issues.map(({ updatedAt }) => updatedAt.getTime());
  return new Date(Math.max(atLeast.getTime(), ...times));
}

export function toChangedIssue(
  id: number,
  {
    updated_at,
    created_at,
    text,
  }: { updated_at: string; created_at: string; text: string | null | undefined },
): ChangedIssue {
  return {
    id: String(id),
    updatedAt: new Date(updated_at),
    createdAt: new Date(created_at),
    markedId: issueOfMarker(endMarker(text ?? '')) ?? null,
  };
}

const doneStatuses: readonly IssueStatus[] = ['RESOLVED', 'CLOSED'];

export function isDone(status: IssueStatus): boolean {
  return doneStatuses.includes(status);
}

/**
 * Returns the status after one workflow step from `local` towards `wanted`. A resolved or closed issue is reopened
 * first. If no step leads closer, returns `local`.
 */
export function stepTowards(wanted: IssueStatus, local: IssueStatus): IssueStatus {
  if (wanted === local || mayFollow(local, wanted)) return wanted;
  return isDone(local) && !isDone(wanted) ? 'REOPENED' : local;
}

/** `stepTowards` for a tracker that only knows open and closed issues. */
export function stepForTwoStates(isOpen: boolean, whenClosed: IssueStatus, local: IssueStatus): IssueStatus {
  if (isOpen) return isDone(local) ? 'REOPENED' : local;
  return isDone(local) && whenClosed === 'RESOLVED' ? local : stepTowards(whenClosed, local);
}
