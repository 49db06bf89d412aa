import type { Activity, Person } from '@tessera/contracts';
import { personName, priorityNames, statusNames } from '../messages.ts';
import { sayingOf } from './relation-sides.ts';
import { fieldName } from './use-issue-changes.ts';

interface ActivityText {
  text: string;
  /** Texts that are too long for the line. */
  before?: string;
  after?: string;
}

/** Describes an entry of the history, after the name of its actor. */
export function describeActivity({ kind, field, old, new: next }: Activity): ActivityText {
  switch (kind) {
    case 'created':
      return { text: 'created the issue' };
    case 'status_changed':
      return { text: `changed the status from ${valueText('status', old)} to ${valueText('status', next)}` };
    case 'updated':
      if (field === 'description') return { text: 'changed the description', ...texts(old, next) };
      return {
        text: `changed the ${fieldName(field ?? '')} from ${valueText(field, old)} to ${valueText(field, next)}`,
      };
    case 'comment_added':
      return { text: 'added a comment' };
    case 'comment_changed':
      return { text: 'changed a comment', ...texts(member(old, 'body'), member(next, 'body')) };
    case 'comment_removed':
      return { text: 'deleted a comment', ...texts(member(old, 'body'), undefined) };
    case 'link_added':
      return { text: `added the link ${linkName(next)}` };
    case 'link_changed':
      return { text: `changed the link ${linkName(next)}` };
    case 'link_removed':
      return { text: `removed the link ${linkName(old)}` };
    case 'relation_added':
      return { text: `added that it ${relationText(next)}` };
    case 'relation_removed':
      return { text: `removed that it ${relationText(old)}` };
    case 'label_added':
      return { text: `added the label ${isolated(member(next, 'name'))}` };
    case 'label_removed':
      return { text: `removed the label ${isolated(member(old, 'name'))}` };
    case 'attachment_added':
      return { text: `added the file ${isolated(member(next, 'name'))}` };
    case 'attachment_removed':
      return { text: `deleted the file ${isolated(member(old, 'name'))}` };
    case 'sync_conflict':
      return { text: `kept the ${fieldName(field ?? '')} at a sync conflict`, ...texts(old, next) };
  }
}

/** Names what changes have changed, such as `title and labels`; empty if one of them is not a change of a property. */
export function changedNames(changes: readonly Activity[]): string {
  const names = new Set(changes.map(changedName));
  return names.has('') ? '' : new Intl.ListFormat('en').format(names);
}

function changedName({ kind, field }: Activity): string {
  if (kind === 'updated') return fieldName(field ?? '');
  if (kind === 'label_added' || kind === 'label_removed') return 'labels';
  if (kind === 'link_added' || kind === 'link_changed' || kind === 'link_removed') return 'links';
  if (kind === 'relation_added' || kind === 'relation_removed') return 'relations';
  return '';
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Says what an issue is to another one. */
function relationText(value: unknown): string {
  const says = sayingOf(member(value, 'relation'), member(value, 'direction'));
  return `${says} #${String(member(value, 'number'))}`;
}

const linkName = (link: unknown) =>
  `${String(member(link, 'type') ?? '').replaceAll('_', ' ')} ${isolated(member(link, 'ref'))}`;

// A text in Arabic or Hebrew would change the order of the words around it.
function isolated(value: unknown): string {
  const text = String(value ?? '');
  return /[\u0590-\u08ff]/.test(text) ? `\u2068${text}\u2069` : text;
}

function texts(old: unknown, next: unknown): Pick<ActivityText, 'before' | 'after'> {
  return {
    ...(typeof old === 'string' && old !== '' && { before: old }),
    ...(typeof next === 'string' && next !== '' && { after: next }),
  };
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

function valueText(field: string | null, value: unknown): string {
  if (field === 'assignee') return value === null ? 'no one' : isolated(personName(value as Person));
  if (field === 'project') return String(member(value, 'key'));
  // What is today is not today for ever.
  if (field === 'due_on') return value === null ? 'none' : dayFormat.format(new Date(String(value)));
  const text = String(value ?? 'none');
  if (field === 'status') return (statusNames as Record<string, string>)[text] ?? text;
  if (field === 'priority') return (priorityNames as Record<string, string>)[text] ?? text;
  return `“${isolated(text)}”`;
}
