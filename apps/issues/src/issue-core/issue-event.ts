import type { IssueEvent, LinkType } from '@tessera/contracts';
import type { ChangedBy, NewIssue } from './issue.ts';
import type { HistoryEntry, IssueChange } from './issue-change.ts';

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
