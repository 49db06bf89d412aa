import type { IssuePriority, IssueStatus, TrackerProvider } from '@tessera/contracts';
import type { IssueParties } from '../access/issue-access.ts';
import type { ActivityEntry } from '../activity/activity-entry.ts';
import type { LinkChanges, LinkDraft, NewLink, StoredLink } from '../links/link.ts';
import type { PersonReference } from '../people/person-resolver.ts';

/** Somebody to be assigned, and the field that named them. */
export interface NamedAssignee {
  person: PersonReference;
  field: string;
}

/** An issue as somebody asks for it. */
export interface IssueDraft {
  title: string;
  description: string;
  priority: IssuePriority;
  status: IssueStatus | undefined;
  assignee: NamedAssignee | null;
  links: LinkDraft[];
}

/** A change as somebody asks for it; undefined means: not supplied. */
export interface IssueEdit {
  title: string | undefined;
  description: string | undefined;
  priority: IssuePriority | undefined;
  status: IssueStatus | undefined;
  assignee: NamedAssignee | null | undefined;
  links: LinkDraft[] | undefined;
}

/** An issue to be, its people resolved. */
export interface NewIssue {
  title: string;
  description: string;
  priority: IssuePriority;
  assigneeId: string | null;
  links: NewLink[];
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
  activity: ActivityEntry[];
}

/** Who changes something, and in which request: for the history. A tracker has no identity, and is named instead. */
export type ChangedBy = { requestId: string } & (
  | { actorId: string; origin?: never }
  | { actorId: null; origin: TrackerProvider }
);

/** An issue as rules look at it, with its links. */
export interface IssueWithLinks extends IssueState {
  links: StoredLink[];
}

/** An issue as it is answered: its wire form, as JSON text, and what its ETag is made of. */
export interface IssueView {
  id: string;
  version: number;
  rev: number;
  document: string;
}

/** Strong: `rev` grows with everything that the representation shows. */
export function etagOf({ version, rev }: { version: number; rev: number }): string {
  return `"${version}.${rev}"`;
}
