import type { IssueEvent, IssueLabel, IssueStatus, LinkType } from '@tessera/contracts';
import { describeFileChanges, type FileChanges, type FileHistoryEntry } from './attachment.ts';
import { type CommentChange, type CommentHistoryEntry, describeCommentChanges } from './comment.ts';
import type { ChangedBy, IssueFields, IssueState, IssueWithLinks, NewIssue } from './issue.ts';
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
  | CommentHistoryEntry
  | LinkHistoryEntry
  | RelationHistoryEntry
  | LabelHistoryEntry
  | FileHistoryEntry
  | ConflictEntry;

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
    comments = [],
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
    ...describeCommentChanges(comments),
    ...conflicts,
  ];
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

/** The members that the statement adds from the row of the issue. */
type FromRow = 'issue_id' | 'issue_key' | 'version';

/** An event to record. */
export type NewIssueEvent = IssueEvent extends infer Event
  ? Event extends { type: infer Type; data: infer Data }
    ? { type: Type; data: Omit<Data, FromRow> }
    : never
  : never;

/** Returns the event of a creation. */
export function creationEvent(
  { assigneeId, mentionIds }: Pick<NewIssue, 'assigneeId' | 'mentionIds'>,
  by: ChangedBy,
): NewIssueEvent {
  const assigned = assigneeId === null ? {} : { assignee_id: assigneeId };
  return { type: 'issue.created', data: { ...author(by), ...assigned, ...mentions(mentionIds) } };
}

/**
 * Returns the events of a change, in the order of its history: one for each comment, each link and each status, and one
 * for all other changes together. `mentionedBefore`: the people that the description mentioned.
 */
export function eventsOf(
  history: readonly HistoryEntry[],
  change: IssueChange,
  by: ChangedBy,
  mentionedBefore: readonly string[] = [],
): NewIssueEvent[] {
  const updates = history.filter(isUpdate);
  const conflicts = history.filter(({ kind }) => kind === 'sync_conflict');
  return history.flatMap((entry): NewIssueEvent[] => {
    switch (entry.kind) {
      case 'status_changed':
        return [{ type: 'issue.status_changed', data: { ...author(by), from: entry.old, to: entry.new } }];
      case 'link_added':
        return [{ type: 'issue.link_added', data: { ...author(by), ...target(entry.new) } }];
      case 'link_removed':
        return [{ type: 'issue.link_removed', data: { ...author(by), ...target(entry.old) } }];
      case 'comment_added':
      case 'comment_changed':
        return [textEvent(entry, change, by)];
      case 'comment_removed':
        return [{ type: 'comment.deleted', data: { ...author(by), comment_id: entry.old.comment_id } }];
      case 'sync_conflict':
        if (entry !== conflicts[0]) return [];
        return [{ type: 'issue.sync_conflict', data: { ...author(by), changed: membersOf(conflicts) } }];
      default:
        return entry === updates[0] ? [updateEvent(updates, change, by, mentionedBefore)] : [];
    }
  });
}

function isUpdate({ kind }: HistoryEntry): boolean {
  return [
    'updated',
    'label_added',
    'label_removed',
    'link_changed',
    'relation_added',
    'relation_removed',
    'attachment_added',
    'attachment_removed',
  ].includes(kind);
}

function updateEvent(
  updates: readonly HistoryEntry[],
  { fields = {}, mentionIds = [] }: IssueChange,
  by: ChangedBy,
  mentionedBefore: readonly string[],
): NewIssueEvent {
  const assigned = fields.assigneeId === undefined ? {} : { assignee_id: fields.assigneeId };
  const added = fields.description === undefined ? [] : without(mentionIds, mentionedBefore);
  const data = { ...author(by), changed: membersOf(updates), ...assigned, ...mentions(added) };
  return { type: 'issue.updated', data };
}

function textEvent(
  { kind, new: { comment_id } }: HistoryEntry & { kind: 'comment_added' | 'comment_changed' },
  { comments = [] }: IssueChange,
  by: ChangedBy,
): NewIssueEvent {
  const added = comments.flatMap((comment) => {
    if (comment.id !== comment_id || comment.kind === 'removed') return [];
    const before = comment.kind === 'changed' ? comment.before.mentionIds : [];
    return without(comment.draft.mentionIds, before);
  });
  const type = kind === 'comment_added' ? 'issue.commented' : 'comment.updated';
  return { type, data: { ...author(by), comment_id, ...mentions(added) } };
}

function author(by: ChangedBy) {
  return { actor_id: by.actorId, origin: by.origin ?? 'local' };
}

function mentions(ids: readonly string[]) {
  return ids.length === 0 ? {} : { mention_ids: [...ids] };
}

function without(ids: readonly string[], others: readonly string[]): string[] {
  return ids.filter((id) => !others.includes(id));
}

function target({ type, ref }: { type: LinkType; ref: string }) {
  return { link_type: type, link_ref: ref };
}

// The changed members of the issue, as the API names them.
function membersOf(entries: readonly HistoryEntry[]): string[] {
  const names = entries.map((entry) => {
    if (entry.kind === 'label_added' || entry.kind === 'label_removed') return 'labels';
    if (entry.kind === 'relation_added' || entry.kind === 'relation_removed') return 'relations';
    if (entry.kind === 'attachment_added' || entry.kind === 'attachment_removed') return 'attachments';
    return 'field' in entry ? entry.field : 'links';
  });
  return [...new Set(names)].sort();
}
