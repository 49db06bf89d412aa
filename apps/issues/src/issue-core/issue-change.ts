import type { IssueLabel } from '@tessera/contracts';
import type { ActivityEntry } from './activity-entry.ts';
import type { IssueChange, IssueFields, IssueState, IssueWithLinks } from './issue.ts';
import { describeLabelChanges } from './label.ts';
import { describeLinkChanges, type LinkChanges, type NewLink, planLinks } from './link.ts';

/** The requested values of an issue. Absent members stay unchanged. */
export interface WantedIssue extends IssueFields {
  /** The people that the description mentions. */
  mentionIds?: readonly string[] | undefined;
  links?: readonly NewLink[] | undefined;
  labels?: readonly IssueLabel[] | undefined;
  /** Whether links to external trackers that `links` omits are kept. */
  keepTrackerLinks: boolean;
}

const wireNames = {
  title: 'title',
  description: 'description',
  priority: 'priority',
  assigneeId: 'assignee',
} as const satisfies Record<keyof IssueFields, string>;

/** Returns the change that gives the issue the requested values; undefined if it already has them. */
export function planChange(issue: IssueWithLinks, wanted: WantedIssue): IssueChange | undefined {
  const fields = changedFields(issue, wanted);
  const links = wanted.links === undefined ? noLinkChanges : planWhole(issue, wanted.links, wanted);
  const labels = describeLabelChanges(issue.labels, wanted.labels ?? issue.labels);
  const activity = [
    ...describeFieldChanges(issue, fields),
    ...describeLinkChanges(issue.links, links),
    ...labels,
  ];
  if (activity.length === 0) return undefined;
  const { mentionIds } = wanted;
  return { fields, mentionIds, links, labels: labels.length === 0 ? undefined : wanted.labels, activity };
}

const noLinkChanges: LinkChanges = { put: [], removed: [] };

function planWhole(
  issue: IssueWithLinks,
  links: readonly NewLink[],
  { keepTrackerLinks }: WantedIssue,
): LinkChanges {
  const replaceable = issue.links.filter((link) => !(keepTrackerLinks && link.type === 'external_issue'));
  return planLinks(issue.links, links, replaceable);
}

function changedFields(issue: IssueState, wanted: IssueFields): IssueFields {
  const { title, description, priority, assigneeId } = wanted;
  return {
    ...(title === undefined || title === issue.title ? {} : { title }),
    ...(description === undefined || description === issue.description ? {} : { description }),
    ...(priority === undefined || priority === issue.priority ? {} : { priority }),
    ...(assigneeId === undefined || assigneeId === issue.assigneeId ? {} : { assigneeId }),
  };
}

function describeFieldChanges(issue: IssueState, fields: IssueFields): ActivityEntry[] {
  const names = Object.keys(wireNames) as (keyof IssueFields)[];
  return names
    .filter((name) => name in fields)
    .map((name) => ({ kind: 'updated', field: wireNames[name], old: issue[name], new: fields[name] }));
}
