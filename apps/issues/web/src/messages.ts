import type { Issue, IssuePriority, IssueStatus } from '@tessera/contracts';

export const statuses = ['OPEN', 'IN_PROGRESS', 'REOPENED', 'RESOLVED', 'CLOSED'] as const;
export const priorities = ['CRITICAL', 'URGENT', 'HIGH', 'MEDIUM', 'LOW'] as const;

export const statusNames: Record<IssueStatus, string> = {
  OPEN: 'Open',
  IN_PROGRESS: 'In progress',
  RESOLVED: 'Resolved',
  CLOSED: 'Closed',
  REOPENED: 'Reopened',
};

export const priorityNames: Record<IssuePriority, string> = {
  LOW: 'Low',
  MEDIUM: 'Medium',
  HIGH: 'High',
  URGENT: 'Urgent',
  CRITICAL: 'Critical',
};

export const syncNames: Record<Issue['sync']['state'], string> = {
  not_configured: '',
  not_synced: 'Not synced',
  synced: 'Synced',
  changed: 'Sync due',
  retrying: 'Sync retries',
  failed: 'Sync failed',
};

/** The fields that people change, in the middle of a sentence. */
export const fieldNames = {
  title: 'title',
  description: 'description',
  priority: 'priority',
  assignee: 'assignee',
  status: 'status',
  labels: 'labels',
  due_on: 'due date',
} as const;
export type FieldName = keyof typeof fieldNames;

export const fieldTitles = {
  status: 'Status',
  priority: 'Priority',
  assignee: 'Assignee',
  due_on: 'Due date',
  labels: 'Labels',
} as const;

interface Named {
  username: string | null;
  name?: string | null | undefined;
}

export function personName(person: Named | null | undefined): string {
  return person?.name ?? person?.username ?? 'Unknown';
}

const dateFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' });
const numberFormat = new Intl.NumberFormat();

const dayFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const yearFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Returns a day such as 2026-12-31 in the time zone of the reader. */
export function dayAfter(days: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate() + days))
    .toISOString()
    .slice(0, 10);
}

/** A day for people, with its year if it is another one. */
export function dayName(day: string): string {
  const near = [0, 1, -1].find((days) => dayAfter(days) === day);
  if (near !== undefined) return capital(relativeDays.format(near, 'day'));
  return (day.slice(0, 4) === dayAfter(0).slice(0, 4) ? dayFormat : yearFormat).format(new Date(day));
}

const relativeDays = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const capital = (text: string) => text.charAt(0).toLocaleUpperCase() + text.slice(1);

export const fullTime = (time: string) => timeFormat.format(new Date(time));
const clockFormat = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
export const clockTime = (time: number) => clockFormat.format(time);
export const formatNumber = (value: number) => numberFormat.format(value);

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns the time relative to now for the last week, otherwise the date. */
export function shortTime(time: string): string {
  const seconds = (Date.now() - new Date(time).getTime()) / 1_000;
  if (seconds >= 7 * 86_400) return dateFormat.format(new Date(time));
  const unit = units.find(([, size]) => seconds >= size);
  return unit === undefined ? 'just now' : relative.format(-Math.floor(seconds / unit[1]), unit[0]);
}

const trackerNames = new Map([
  ['github', 'GitHub'],
  ['gitea', 'Gitea'],
  ['gitlab', 'GitLab'],
  ['redmine', 'Redmine'],
]);

/** The name of an external tracker, by its `provider`. */
export const trackerName = (provider: string): string => trackerNames.get(provider) ?? provider;
