import type {
  Issue,
  IssueLabel,
  IssuePriority,
  IssueStatus,
  LabelReference,
  SyncConflict,
  SyncResult,
  TrackerProvider,
} from '@tessera/contracts';
import type { JsonText } from '@tessera/service-kit';
import type { ShownFile } from './attachment.ts';
import type { Comment } from './comment.ts';
import type { IssueParties } from './issue-access.ts';
import type { LinkDraft, NewLink, StoredLink } from './link.ts';
import type { NamedPerson, PersonReference } from './person.ts';
import type { Project } from './project.ts';

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
  /** A day such as 2026-12-31. */
  dueOn: string | null;
  links: LinkDraft[];
  labels: LabelReference[];
  /** The key of a project; undefined for the default project. */
  project: string | undefined;
}

/** A requested change. Undefined members were not supplied. */
export interface IssueEdit {
  title: string | undefined;
  description: string | undefined;
  priority: IssuePriority | undefined;
  status: IssueStatus | undefined;
  assignee: NamedAssignee | null | undefined;
  dueOn: string | null | undefined;
  links: LinkDraft[] | undefined;
  labels: LabelReference[] | undefined;
}

/** An issue to create, with resolved people and labels. */
export interface NewIssue {
  title: string;
  description: string;
  priority: IssuePriority;
  assigneeId: string | null;
  dueOn: string | null;
  /** The people that the description mentions. */
  mentionIds: readonly string[];
  links: NewLink[];
  labels: IssueLabel[];
  /** Undefined for the default project. */
  projectId?: string | undefined;
}

/** The fields of an issue on which rules depend. */
export interface IssueState extends IssueParties {
  id: string;
  title: string;
  description: string;
  priority: IssuePriority;
  dueOn: string | null;
  status: IssueStatus;
  version: number;
  rev: number;
  resolvedAt: Date | null;
}

/** The fields whose change increments `version`. Absent members stay unchanged. */
export interface IssueFields {
  title?: string | undefined;
  description?: string | undefined;
  priority?: IssuePriority | undefined;
  assigneeId?: string | null | undefined;
  dueOn?: string | null | undefined;
}

/** All members are written, also those that are undefined, so that the compiler finds a forgotten one. */
export type Complete<Members> = { [Name in keyof Required<Members>]: Members[Name] };

/** The author and the request of a change, for the history. The author is an identity or a tracker. */
export type ChangedBy = { requestId: string } & (
  | { actorId: string; origin?: never }
  | { actorId: null; origin: TrackerProvider }
);

/** The fields of an issue on which rules depend, with its links and labels. */
export interface IssueWithLinks extends IssueState {
  links: StoredLink[];
  labels: IssueLabel[];
  /** The people that the description mentions; read only for a change. */
  mentionIds?: readonly string[];
}

/** The tracker that issues are synced with. */
export interface TrackerIdentity {
  provider: TrackerProvider;
  project: string;
}

/** The sync state of an issue. All members are null before the first sync. */
export interface TrackerState {
  /** Increases with every change of this state. */
  trackerRev: number | null;
  provider: string | null;
  remoteId: string | null;
  remoteKey: string | null;
  remoteUrl: string | null;
  remoteState: string | null;
  /** The name of the author in the tracker; only for imported issues. */
  remoteAuthor: string | null;
  remoteCreatedAt: Date | null;
  lastSyncedAt: Date | null;
  lastResult: SyncResult | null;
  lastError: string | null;
  /** The tracker's error messages. */
  lastMessages: string[];
  movedTo: string | null;
  conflictsCount: number | null;
  /** The newest conflicts; empty in a list. */
  conflicts: SyncConflict[];
  nextAttemptAt: Date | null;
  /** Whether the local issue has changed since the last sync. */
  isChanged: boolean | null;
}

/**
 * A stored issue with the names of its people. The members of `TrackerState` are absent if no tracker is configured.
 */
export interface IssueRecord extends IssueState, Partial<TrackerState> {
  number: number;
  reporterName: string | null;
  assigneeName: string | null;
  commentsCount: number;
  attachmentsCount: number;
  /** Sorted by name. */
  labels: IssueLabel[];
  /** Changes when labels are changed or deleted; null for an issue without labels. */
  labelRev: number | null;
  project: Pick<Project, 'key' | 'name' | 'visibility'>;
  /** Changes when projects are changed. */
  projectRev: number;
  /** The timeline of the database; see `IssueRevision`. */
  branch: number;
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
}

/** All displayed data of an issue, from one snapshot of the database. */
export interface IssueSnapshot extends IssueRecord {
  /** In a list, only the oldest links, without metadata. */
  links: StoredLink[];
  linksCount: number;
  /** Whether an open issue blocks it; absent if a list does not show it. */
  isBlocked?: boolean | undefined;
  /** The people that the description mentions; null without mentions, absent in a list. */
  mentions?: NamedPerson[] | null;
  /** The oldest files; null without any, absent in a list. */
  attachments?: ShownFile[] | null;
  /** The newest comments, oldest first. */
  comments: Comment[];
}

/** The text of an issue with its ETag. */
export interface PresentedIssue {
  id: string;
  text: JsonText<Issue>;
  etag: string;
}
