import type { IssueChanges, IssueState } from '../fake-tracker.ts';

/** A comment as a tracker keeps it. */
export interface TrackerComment {
  readonly id: number;
  body: string;
  readonly author: string;
  /** Written by the tracker itself about a change (GitLab). */
  readonly system: boolean;
  readonly createdAt: Date;
  updatedAt: Date;
}

/** An issue as a tracker keeps it. */
export interface TrackerIssue {
  /** Unique in the whole tracker. */
  readonly id: number;
  /** Unique in the project. */
  readonly number: number;
  title: string;
  body: string;
  state: IssueState;
  stateReason: string | null;
  labels: string[];
  readonly author: string;
  readonly pullRequest: boolean;
  readonly comments: TrackerComment[];
  readonly createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  closedBy: string | null;
  /** Grows when the body changes (Gitea). */
  contentVersion: number;
  fate: Fate;
}

/** Whether the issue is still where it was. */
export type Fate =
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

/** Applies an edit as every tracker understands it; what one of them adds is its own business. */
export function applyChanges(issue: TrackerIssue, changes: IssueChanges, by: string, now: Date): void {
  if (changes.title !== undefined) issue.title = changes.title;
  if (changes.body !== undefined && changes.body !== issue.body) {
    issue.body = changes.body;
    issue.contentVersion += 1;
  }
  if (changes.labels !== undefined) issue.labels = [...new Set(changes.labels)];
  if (changes.state !== undefined && changes.state !== issue.state) {
    issue.state = changes.state;
    issue.closedAt = changes.state === 'closed' ? now : null;
    issue.closedBy = changes.state === 'closed' ? by : null;
  }
  if (changes.stateReason !== undefined) issue.stateReason = changes.stateReason;
  issue.updatedAt = now;
}
