import type { IssuePriority, IssueStatus, SyncedField, TrackerProvider } from '@tessera/contracts';
import type { Logger } from '@tessera/service-kit';
import { mayFollow } from '../issue-status/issue-status.ts';
import type { TrackerCheck } from './tracker-check.ts';
import type { TrackerError } from './tracker-error.ts';

/** The external tracker that the service is configured with. */
export interface TrackerConfig {
  provider: TrackerProvider;
  /** Base URL without a trailing slash; for GitHub, of its API. */
  url: string;
  project: string;
  token: string;
  /** The account that the token belongs to; undefined: ask the tracker. */
  login: string | undefined;
  /** Redmine only: its administrators choose the names of statuses and priorities. */
  words: TrackerWords;
  redmine: RedmineSettings;
  /** Timeout of one request. */
  timeoutMs: number;
  /** How long the circuit breaker stays open. */
  breakMs: number;
  /** Overrides the tracker's default. */
  settleSeconds: number | undefined;
  /** Overrides the tracker's default. */
  writeIntervalMs: number | undefined;
}

/** While the tracker limits our requests, nothing is sent. Shared by all replicas. */
export interface TrackerLimit {
  /** How long the limit still lasts; 0: there is none. */
  remainingSeconds: () => Promise<number>;
  /** Records that the tracker accepts no requests for a time. */
  extend: (seconds: number) => Promise<void>;
}

/** What a tracker needs of the service. */
export interface TrackerContext {
  logger: Logger;
  limit: TrackerLimit;
}

/** What a Redmine may require of a new issue. */
export interface RedmineSettings {
  /** The name of its tracker, Redmine's word for the type of an issue; undefined: the first one of the project. */
  type: string | undefined;
  customFields: readonly { id: number; value: string }[];
}

export interface TrackerWords {
  statuses: Readonly<Record<IssueStatus, string>>;
  priorities: Readonly<Record<IssuePriority, string>>;
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
  /** Whether the tracker shows it only to some users of the project. */
  isPrivate: boolean;
  /** The name of the tracker's own status. */
  state: string;
  /** Null if the tracker has no priorities, or its value maps to none of ours. */
  priority: IssuePriority | null;
  createdAt: Date;
  updatedAt: Date;
  /** When it was read, by the tracker's clock; if that is not known, an earlier time. */
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

/** A page of the issues that were updated since a time. */
export interface ChangedPage {
  issues: RemoteStamp[];
  hasNext: boolean;
}

/** A user of the tracker. */
export interface RemotePerson {
  /** The login, or the display name where the tracker does not show logins. */
  name: string;
  /** Null if the tracker does not show it to our account. */
  email: string | null;
}

/** A remote issue with what only an import uses. */
export interface ListedIssue extends RemoteIssue {
  author: string | null;
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
  /** As stored in the tracker, including our marker. */
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
  /** How long an issue or comment can be missing from the tracker's lists after the request that created it. */
  readonly settleSeconds: number;
  /** Whether `listChanged` lists the issues by the time of their last update. */
  readonly ordersChanges: boolean;
  /** Whether requests are not sent for a while, because several failed in a row. */
  readonly isPaused: boolean;

  /** The current time by the tracker's clock, as its last response had it. */
  clock(): Date;
  /** What prevents every sync: the credentials, the project or a permission; undefined if nothing does. */
  findProblem(signal: AbortSignal): Promise<TrackerError | undefined>;
  /**
   * Whether the account may do what syncs need, and whether the configured names exist; in a project in which `findProblem`
   * found no problem.
   */
  checkSettings(signal: AbortSignal): Promise<TrackerCheck[]>;
  /** The part of a text that the tracker can hold: shorter only if the text exceeds the tracker's limit. */
  toFit(text: string): string;
  /** The marker becomes part of the description; `findByMarker` finds it. */
  create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue>;
  /** Throws `remote_gone` or `remote_moved` if the issue no longer exists there. */
  get(id: string, signal: AbortSignal): Promise<RemoteIssue>;
  /**
   * Updates an issue that was just read as `seen`. Success does not prove that the tracker applied the change: read the
   * issue again. Throws `tracker_busy` if the tracker reports a newer version.
   */
  update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void>;
  /**
   * The values that an update replaced although they were not seen before it, as far as the tracker's history contains
   * values.
   */
  findOverwritten(id: string, push: RemotePush, signal: AbortSignal): Promise<RemoteChange>;
  /** When people last changed fields of an issue, as far as the tracker's history tells. */
  changeTimes(id: string, signal: AbortSignal): Promise<Map<SyncedField, Date>>;
  /** Issues that our account created since a time and that contain the marker, oldest first. */
  findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]>;
  /** Issues that were updated at or after a time, comments included. */
  listChanged(position: ListPosition, signal: AbortSignal): Promise<ChangedPage>;
  /** The same with their content. */
  listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage>;
  /** The public comments whose ids are wanted, oldest first. */
  listComments(id: string, isWanted: (id: string) => boolean, signal: AbortSignal): Promise<RemoteComment[]>;
  /** Returns the id of the new comment. */
  addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string>;

  /** The remote state for a local issue. */
  stateOf(local: LocalState): string;
  /** Whether the tracker cannot move an issue from `state` closer to `wanted`. */
  isReached(state: string, wanted: string): boolean;
  /** The local status that a remote state stands for; undefined if it only tells open from closed. */
  meaningOf(state: string): IssueStatus | undefined;
  /** The local status for a remote state: the current one, or one that the workflow allows next. */
  statusOf(state: string, local: IssueStatus): IssueStatus;
}

/** Whether two names of statuses, priorities or types are the same for an operator. */
export function isSameName(left: string, right: string): boolean {
  return left.trim().toLowerCase() === right.trim().toLowerCase();
}

/**
 * Where a list goes on after a page. If the tracker can order issues by their last update, a page begins where the previous
 * one ended in time: an issue that changes meanwhile moves to the end of the list, and later pages by number would skip
 * another one.
 */
export function positionAfter(
  { since, page }: ListPosition,
  issues: readonly RemoteStamp[],
  { ordersChanges }: Pick<ExternalTracker, 'ordersChanges'>,
): ListPosition {
  const newest = ordersChanges ? newestOf(issues, since) : since;
  return newest > since ? { since: newest, page: 1 } : { since, page: page + 1 };
}

/** The time of the last update of a list, or a later one. */
export function newestOf(issues: readonly RemoteStamp[], atLeast: Date): Date {
  const times = issues.map(({ updatedAt }) => updatedAt.getTime());
  return new Date(Math.max(atLeast.getTime(), ...times));
}

export function toStamp(id: number, { updated_at: updatedAt }: { updated_at: string }): RemoteStamp {
  return { id: String(id), updatedAt: new Date(updatedAt) };
}

const doneStatuses: readonly IssueStatus[] = ['RESOLVED', 'CLOSED'];

export function isDone(status: IssueStatus): boolean {
  return doneStatuses.includes(status);
}

/**
 * The status after one workflow step from `local` towards `wanted`. A done issue is reopened before work continues; without
 * a step that leads closer, the status stays.
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
