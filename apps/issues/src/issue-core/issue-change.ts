import type { IssueLabel, IssueStatus } from '@tessera/contracts';
import { describeFileChanges, type FileChanges, type FileHistoryEntry } from './attachment.ts';
import type { CommentChange } from './comment.ts';
import type { IssueFields, IssueState, IssueWithLinks } from './issue.ts';
import { describeLabelChanges, type LabelHistoryEntry } from './label.ts';
import {
  describeLinkChanges,
  type LinkChanges,
  type LinkHistoryEntry,
  type NewLink,
  planLinks,
} from './link.ts';
import type { ProjectValue } from './project.ts';
import type { RelationHistoryEntry } from './relation.ts';

interface FieldDefinition {
  /** Its name in the history, in events and in the API. */
  name: string;
  /** Its column of the table `issues`, and the type of the column. */
  column: string;
  type: 'text' | 'uuid' | 'issue_priority' | 'date';
}

/** The fields that people write, in the order of their history entries. Statements and history are derived from it. */
export const issueFields = {
  title: { name: 'title', column: 'title', type: 'text' },
  description: { name: 'description', column: 'description', type: 'text' },
  priority: { name: 'priority', column: 'priority', type: 'issue_priority' },
  assigneeId: { name: 'assignee', column: 'assignee_id', type: 'uuid' },
  dueOn: { name: 'due_on', column: 'due_on', type: 'date' },
} as const satisfies Record<keyof IssueFields, FieldDefinition>;

export const issueFieldNames = Object.keys(issueFields) as (keyof IssueFields)[];

/** A history entry. It is written in the same statement as the change that it records. */
export type HistoryEntry =
  | { kind: 'updated'; field: string; old: unknown; new: unknown }
  | { kind: 'status_changed'; field: 'status'; old: IssueStatus; new: IssueStatus }
  | { kind: 'comment_added'; new: { comment_id: string } }
  | { kind: 'comment_changed'; old: CommentValue; new: CommentValue }
  | { kind: 'comment_removed'; old: CommentValue }
  | LinkHistoryEntry
  | RelationHistoryEntry
  | LabelHistoryEntry
  | FileHistoryEntry
  | ConflictEntry;

interface CommentValue {
  comment_id: string;
  body: string;
}

/** A field that changed on both sides since the last sync: the value in the tracker and the local one. */
export interface ConflictEntry {
  kind: 'sync_conflict';
  field: string;
  old: unknown;
  new: unknown;
}

/** A change of an issue. Absent members stay unchanged. Its history, its events and its watchers follow from it. */
export interface IssueChange {
  /** The fields with a new value. */
  fields?: IssueFields | undefined;
  /** The people that the new description mentions. */
  mentionIds?: readonly string[] | undefined;
  /** The statuses that the issue passes through, without the current one. */
  statuses?: readonly IssueStatus[] | undefined;
  comments?: readonly CommentChange[] | undefined;
  links?: LinkChanges | undefined;
  /** Relations that are written in the same transaction. */
  relations?: readonly RelationHistoryEntry[] | undefined;
  /** The move to another project. */
  project?: { old: ProjectValue; new: ProjectValue } | undefined;
  /** All labels after the change. */
  labels?: readonly IssueLabel[] | undefined;
  /** Files that no text names, and files that are deleted. */
  files?: FileChanges | undefined;
  /** Entries about conflicts with the external tracker. */
  conflicts?: readonly ConflictEntry[] | undefined;
}

/** The requested values of an issue. Absent members stay unchanged. */
export interface WantedIssue extends IssueFields {
  /** The people that the description mentions. */
  mentionIds?: readonly string[] | undefined;
  links?: readonly NewLink[] | undefined;
  labels?: readonly IssueLabel[] | undefined;
  /** Whether links to external trackers that `links` omits are kept. */
  keepTrackerLinks: boolean;
}

/** Returns the change that gives the issue the requested values; undefined if it already has them. */
export function planChange(issue: IssueWithLinks, wanted: WantedIssue): IssueChange | undefined {
  const { mentionIds, links, labels, keepTrackerLinks, ...fields } = wanted;
  const change = {
    fields: changedFields(issue, fields),
    mentionIds,
    links: links && planWhole(issue, links, keepTrackerLinks),
    labels: labels && describeLabelChanges(issue.labels, labels).length > 0 ? labels : undefined,
  };
  return historyOf(issue, change).length === 0 ? undefined : change;
}

function planWhole(issue: IssueWithLinks, links: readonly NewLink[], keepTrackerLinks: boolean): LinkChanges {
  const replaceable = issue.links.filter((link) => !(keepTrackerLinks && link.type === 'external_issue'));
  return planLinks(issue.links, links, replaceable);
}

function changedFields(issue: IssueState, wanted: IssueFields): IssueFields {
  const fields = { ...wanted };
  for (const name of issueFieldNames)
    if (fields[name] === undefined || fields[name] === issue[name]) delete fields[name];
  return fields;
}

/** Returns the history entries of a change, in order. */
export function historyOf(issue: IssueWithLinks, change: IssueChange): HistoryEntry[] {
  const {
    fields = {},
    statuses = [],
    links,
    relations = [],
    labels,
    project,
    files = {},
    conflicts = [],
  } = change;
  return [
    ...statuses.map((status, step): HistoryEntry => {
      const old = statuses[step - 1] ?? issue.status;
      return { kind: 'status_changed', field: 'status', old, new: status };
    }),
    ...issueFieldNames
      .filter((name) => fields[name] !== undefined)
      .map((name): HistoryEntry => {
        return { kind: 'updated', field: issueFields[name].name, old: issue[name], new: fields[name] };
      }),
    ...(project === undefined ? [] : [{ kind: 'updated' as const, field: 'project', ...project }]),
    ...(links === undefined ? [] : describeLinkChanges(issue.links, links)),
    ...(labels === undefined ? [] : describeLabelChanges(issue.labels, labels)),
    ...relations,
    ...describeFileChanges(files),
    ...commentHistory(change),
    ...conflicts,
  ];
}

/** Returns the history entries of comments, which do not depend on the issue. */
export function commentHistory({ comments = [] }: Pick<IssueChange, 'comments'>): HistoryEntry[] {
  return comments.map((change): HistoryEntry => {
    const { id } = change;
    if (change.kind === 'added') return { kind: 'comment_added', new: { comment_id: id } };
    const old = { comment_id: id, body: change.before.body };
    return change.kind === 'removed'
      ? { kind: 'comment_removed', old }
      : { kind: 'comment_changed', old, new: { comment_id: id, body: change.draft.body } };
  });
}

/** Returns the ids of the people who take part in an issue by a change, and therefore watch it. */
export function participantsOf(
  { fields, mentionIds = [], comments = [] }: IssueChange,
  actorId: string | null,
): string[] {
  const ids = [
    ...(fields?.assigneeId == null ? [] : [fields.assigneeId]),
    ...(fields?.description === undefined ? [] : mentionIds),
    ...comments.flatMap((change) => {
      if (change.kind === 'removed') return [];
      const author = change.kind === 'added' && actorId !== null ? [actorId] : [];
      return [...author, ...change.draft.mentionIds];
    }),
  ];
  return [...new Set(ids)];
}
