import type { IssueChanges, IssueState } from '../fake-tracker.ts';

/** A stored comment. */
export interface TrackerComment {
  readonly id: number;
  body: string;
  readonly author: string;
  /** Whether GitLab generated the note for a change. */
  readonly system: boolean;
  readonly createdAt: Date;
  updatedAt: Date;
}

/** A stored issue. */
export interface TrackerIssue {
  /** Unique in the tracker. */
  readonly id: number;
  /** Unique in the project. */
  readonly number: number;
  title: string;
  body: string;
  state: IssueState;
  stateReason: string | null;
  labels: string[];
  assignee: string | null;
  readonly author: string;
  readonly pullRequest: boolean;
  readonly comments: TrackerComment[];
  readonly createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  closedBy: string | null;
  /** Incremented when the body changes (Gitea). */
  contentVersion: number;
  /** Whether comments are rejected (GitHub). */
  locked: boolean;
  /** Whether only some members see it (GitLab). */
  confidential: boolean;
  presence: Presence;
}

/** Whether the issue was deleted or moved. */
export type Presence =
  | { readonly kind: 'present' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'moved'; readonly location: string | null };

export interface NewIssue {
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
  readonly author: string;
  readonly pullRequest?: boolean;
}

/** Applies the parts of an edit that all trackers have in common. */
export function applyChanges(issue: TrackerIssue, changes: IssueChanges, by: string, now: Date): void {
  if (changes.title !== undefined) issue.title = changes.title;
  if (changes.body !== undefined && changes.body !== issue.body) {
    issue.body = changes.body;
    issue.contentVersion += 1;
  }
  if (changes.assignee !== undefined) issue.assignee = changes.assignee;
  if (changes.labels !== undefined) issue.labels = [...new Set(changes.labels)];
  if (changes.state !== undefined && changes.state !== issue.state) {
    issue.state = changes.state;
    issue.closedAt = changes.state === 'closed' ? now : null;
    issue.closedBy = changes.state === 'closed' ? by : null;
  }
  if (changes.locked !== undefined) issue.locked = changes.locked;
  if (changes.confidential !== undefined) issue.confidential = changes.confidential;
  if (changes.stateReason !== undefined) issue.stateReason = changes.stateReason;
  issue.updatedAt = now;
}
