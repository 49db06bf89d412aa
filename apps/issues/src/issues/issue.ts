import type {
  Issue,
  IssueLabel,
  IssuePriority,
  IssueStatus,
  SyncConflict,
  SyncResult,
  TrackerProvider,
} from '@tessera/contracts';
import type { JsonText } from '@tessera/service-kit';
import type { IssueParties } from '../access/issue-access.ts';
import type { ActivityEntry } from '../activity/activity-entry.ts';
import type { Comment } from '../comments/comment.ts';
import type { LinkChanges, LinkDraft, NewLink, StoredLink } from '../links/link.ts';
import type { PersonReference } from '../people/person-resolver.ts';

/** A person to assign, and the field of the request that names the person. */
export interface NamedAssignee {
  person: PersonReference;
  field: string;
}

/** A requested new issue. */
export interface IssueDraft {
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus | undefined;
  assignee: NamedAssignee | null;
  links: LinkDraft[];
  /** Names. */
  labels: string[];
}

/** A requested change; undefined: not supplied. */
export interface IssueEdit {
  title: string | undefined;
  description: string | undefined;
  priority: IssuePriority | undefined;
  status: IssueStatus | undefined;
  assignee: NamedAssignee | null | undefined;
  links: LinkDraft[] | undefined;
  /** Names. */
  labels: string[] | undefined;
}

/** An issue to be, its people and labels resolved. */
export interface NewIssue {
  title: string;
  description: string;
  priority: IssuePriority;
  assigneeId: string | null;
  links: NewLink[];
  labels: IssueLabel[];
}

/** An issue as rules look at it. */
export interface IssueState extends IssueParties {
  id: string;
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus;
  version: number;
  rev: number;
  resolvedAt: Date | null;
}

/** The fields whose change makes a new version; absent means unchanged. */
export interface IssueFields {
  title?: string | undefined;
  description?: string | undefined;
  priority?: IssuePriority | undefined;
  assigneeId?: string | null | undefined;
}

/** What is to be written of an issue, decided while its row is locked. */
export interface IssueChange {
  fields: IssueFields;
  links: LinkChanges;
  /** All labels of the issue after the change; absent means unchanged. */
  labels?: readonly IssueLabel[] | undefined;
  activity: ActivityEntry[];
}

/** Who changes something, and in which request: for the history. A tracker has no identity, and is named instead. */
export type ChangedBy = { requestId: string } & (
  | { actorId: string; origin?: never }
  | { actorId: null; origin: TrackerProvider }
);

/** An issue as rules look at it, with its links and its labels. */
export interface IssueWithLinks extends IssueState {
  links: StoredLink[];
  labels: IssueLabel[];
}

/** The tracker that issues are synced with. */
export interface TrackerIdentity {
  provider: string;
  project: string;
}

/** How an issue is synced with the tracker: all null before its first sync. */
export interface TrackerState {
  /** Grows with every change of this state. */
  trackerRev: number | null;
  provider: string | null;
  remoteId: string | null;
  remoteKey: string | null;
  remoteUrl: string | null;
  remoteState: string | null;
  /** Of an imported issue. */
  remoteAuthor: string | null;
  remoteCreatedAt: Date | null;
  lastSyncedAt: Date | null;
  lastResult: SyncResult | null;
  lastError: string | null;
  /** What the tracker said about it. */
  lastMessages: string[];
  movedTo: string | null;
  conflictsCount: number | null;
  /** The newest ones; none in a list. */
  conflicts: SyncConflict[];
  nextAttemptAt: Date | null;
  /** Whether it has changed here since the last sync. */
  isChanged: boolean | null;
}

/** A stored issue with the names of its people; without a `TrackerState` where no tracker is configured. */
export interface IssueRecord extends IssueState, Partial<TrackerState> {
  number: number;
  reporterName: string | null;
  assigneeName: string | null;
  commentsCount: number;
  /** By name. */
  labels: IssueLabel[];
  /** Changes when labels are changed or deleted; null for an issue without labels. */
  labelRev: number | null;
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
}

/** Everything that is shown of an issue, as of one moment. */
export interface IssueSnapshot extends IssueRecord {
  /** In a list the oldest ones, without metadata. */
  links: StoredLink[];
  linksCount: number;
  /** The newest ones, oldest first. */
  comments: Comment[];
}

/** What decides whether a text of an issue is still true. */
export interface IssueRevision {
  /** Grows with every change of the issue, its links and its comments. */
  rev: number;
  /** Changes when labels are changed or deleted; null for an issue without labels. */
  labelRev: number | null;
  trackerRev?: number | null | undefined;
  /** By the ids of those people that are known. */
  names: ReadonlyMap<string, string | null>;
}

/** The text of an issue with its ETag. */
export interface PresentedIssue {
  id: string;
  text: JsonText<Issue>;
  etag: string;
}
