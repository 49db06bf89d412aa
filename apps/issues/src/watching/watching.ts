import type { IssuePriority, IssueStatus } from '@tessera/contracts';

/** Whether a person watches an issue. */
export interface WatchState {
  issueId: string;
  isWatching: boolean;
}

/** An issue that a person watches. */
export interface WatchedIssue {
  id: string;
  number: number;
  projectKey: string | null;
  title: string;
  status: IssueStatus;
  priority: IssuePriority;
  updatedAt: Date;
  /** Since when the person watches it. */
  since: Date;
}

/** The keyset position of a watched issue. */
export interface WatchedPlace {
  since: string;
  id: string;
}

/** A page of watched issues, after the last one of the previous page. */
export interface WatchedPage {
  limit: number;
  after: WatchedPlace | undefined;
}
