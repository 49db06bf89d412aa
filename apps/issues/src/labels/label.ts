import type { IssueLabel } from '@tessera/contracts';
import type { ActivityEntry } from '../activity/activity-entry.ts';

/** A label. */
export interface Label extends IssueLabel {
  createdAt: Date;
  updatedAt: Date;
}

/** Two names with the same key name the same label. */
export function labelKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase();
}

/** The history of a change of an issue's labels; a label of both lists is none. */
export function describeLabelChanges(
  before: readonly IssueLabel[],
  after: readonly IssueLabel[],
): ActivityEntry[] {
  return [
    ...missingFrom(before, after).map(
      (label): ActivityEntry => ({ kind: 'label_added', new: labelValue(label) }),
    ),
    ...missingFrom(after, before).map(
      (label): ActivityEntry => ({ kind: 'label_removed', old: labelValue(label) }),
    ),
  ];
}

function labelValue({ id, name, color }: IssueLabel): IssueLabel {
  return { id, name, color };
}

function missingFrom(these: readonly IssueLabel[], others: readonly IssueLabel[]): IssueLabel[] {
  return others.filter(({ id }) => !these.some((label) => label.id === id));
}
