import type {
  IssueField,
  IssueFilterInput,
  IssuePage,
  IssuePriority,
  IssueReference,
  IssueStatus,
  LinkRelation,
  LinkType,
  ListableIssue,
  NotificationReason,
  NotificationState,
  OrderingField,
  PersonInput,
  RelationDirection,
  RelationKind,
  TimelineOrder,
} from '@tessera/contracts';
import type { OnProgress } from './file-transfer.ts';
import type { CallOptions, PageSize } from './transport.ts';

/** Options of an upload or a download. */
export interface TransferOptions extends CallOptions {
  onProgress?: OnProgress;
}

/** The filters and the order of a list of issues. */
export interface IssueFilters extends IssueFilterInput {
  ordering?: readonly (OrderingField | `-${OrderingField}`)[];
}

/** The members of each listed issue; by default all but those that depend on other issues. */
export interface Fields<Field extends IssueField> {
  fields?: readonly Field[];
}

export interface PageFilters extends IssueFilters {
  page?: number;
  page_size?: number;
  cursor?: string;
}

export type ListedPage<Field extends IssueField> = Omit<IssuePage, 'results'> & {
  results: Pick<ListableIssue, Field>[];
};

export interface Timeline extends PageSize {
  order?: TimelineOrder;
}

export interface LinkDraft {
  type: LinkType;
  /** The immutable id in the other system. For a user: a UUID, an e-mail address, or an object. */
  ref: string | PersonInput;
  title?: string | null;
  url?: string | null;
  relation?: LinkRelation;
  metadata?: Readonly<Record<string, unknown>> | null;
}

export interface RelationDraft {
  kind: RelationKind;
  /** As the issue of the call sees it; `outgoing` by default. */
  direction?: RelationDirection;
  /** The id, the key or the number of the other issue. */
  issue: string;
  /** With `parent`: takes the place of the parent that the part has. */
  replace?: boolean;
}

/** At most one of `assignee_id` and `assignee_email`. */
interface IssueMembers {
  /** Plain text or Markdown. */
  description?: string | null;
  priority?: IssuePriority;
  assignee_id?: string | null;
  assignee_email?: string;
  /** A day such as 2026-12-31. */
  due_on?: string | null;
  /** The complete list, which replaces the current links. */
  links?: readonly LinkDraft[];
  /** The complete list: names of existing labels, or labels of a response, which are found by id. */
  labels?: readonly (string | { readonly id: string })[];
}

export interface IssueDraft extends IssueMembers {
  title: string;
  /** The key of a project; by default the default project. */
  project?: string;
}

/** A change of an issue. Omitted members stay unchanged. */
export interface IssueChange extends IssueMembers {
  title?: string;
  /**
   * The version on which the change is based. If it is not the current version, the response is 409 `version_conflict`.
   */
  version?: number;
}

export interface StatusChange {
  status: IssueStatus;
  /** A comment that is added with the change. */
  comment?: string;
  version?: number;
}

interface BulkMembers {
  status: IssueStatus;
  priority: IssuePriority;
  assignee_id: string | null;
  due_on: string | null;
  labels: { add?: LabelReferences; remove?: LabelReferences };
}

/** A change of many issues: exactly one of the members. */
export type BulkChange = {
  [Name in keyof BulkMembers]: Pick<BulkMembers, Name> & {
    [Other in Exclude<keyof BulkMembers, Name>]?: never;
  };
}[keyof BulkMembers];

/** Names of existing labels, or labels of a response, which are found by id. */
type LabelReferences = readonly (string | { readonly id: string })[];

export interface NotificationFilters {
  /** Whether to list unread or read notifications; both by default. */
  unread?: boolean;
  /** Where they are: in the inbox, snoozed or done; all by default. */
  state?: NotificationState;
  reason?: readonly NotificationReason[];
  issue?: IssueReference;
}
