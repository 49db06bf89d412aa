import type { IssuePriority, IssueStatus, TrackerProvider } from '@tessera/contracts';

/** An issue as a tracker has it, its texts canonical (see `tracker-text.ts`) and without our marker. */
export interface RemoteIssue {
  /** What the tracker's API knows it by, within the project. */
  id: string;
  /** What people know it by, such as `#17`. */
  key: string;
  url: string;
  title: string;
  description: string;
  /** The tracker's own word for where the issue stands. */
  state: string;
  /** Null where the tracker has no such field, or a value that we have no word for. */
  priority: IssuePriority | null;
  createdAt: Date;
  updatedAt: Date;
  /** A mark of this very content, where the tracker takes one with a change. */
  revision: string | null;
}

export interface RemoteComment {
  id: string;
  /** As it is written there, our marker included. */
  body: string;
  author: string | null;
  createdAt: Date;
}

/** A change of an issue in a tracker; absent means as it is. */
export interface RemoteChange {
  title?: string;
  description?: string;
  state?: string;
  priority?: IssuePriority;
}

/** What a new issue is created with; its state is the tracker's first one. */
export interface RemoteDraft {
  title: string;
  description: string;
  priority: IssuePriority;
}

/** An issue here, as far as its state in a tracker depends on it. */
export interface LocalState {
  status: IssueStatus;
  /** Whether it was resolved before it was closed. */
  wasResolved: boolean;
}

/**
 * An external tracker, as the synchronisation sees it. Every method throws `TrackerError` alone. A method that writes
 * sends its request once: only the caller knows whether a second try is safe.
 */
export interface ExternalTracker {
  readonly provider: TrackerProvider;
  /** The project that issues are synced with, as configured. */
  readonly project: string;
  /** Whether issues have a priority there. */
  readonly hasPriority: boolean;
  /** How long after an attempt to create something may still be missing from a list, in seconds. */
  readonly settleSeconds: number;

  /** `marker` is put into the issue's text, and found again by `findByMarker`. */
  create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue>;
  /** Throws a `gone` or a `moved` error where the issue is not there any more. */
  get(id: string, signal: AbortSignal): Promise<RemoteIssue>;
  /**
   * Changes an issue that looked like `seen` a moment ago. An answer proves nothing: the caller reads it back. Throws a
   * `stale` error where the tracker says that it has changed since.
   */
  update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void>;
  /** Issues that carry the marker, oldest first; `since` is a bound on their creation. */
  findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]>;
  /** All comments, oldest first. */
  listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]>;
  /** The new comment's id. */
  addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string>;

  /** The state that an issue here should have there. */
  stateOf(local: LocalState): string;
  /** Whether an issue in a state there cannot be brought any nearer to the one that it should have. */
  isReached(state: string, wanted: string): boolean;
  /** What a state there means for an issue here: its status as it is, or one that may follow it. */
  statusOf(state: string, local: IssueStatus): IssueStatus;
}
