import type { IssueLabel } from '@tessera/contracts';

export interface Label extends IssueLabel {
  createdAt: Date;
  updatedAt: Date;
}

export type LabelHistoryEntry =
  | { kind: 'label_added'; new: IssueLabel }
  | { kind: 'label_removed'; old: IssueLabel };

/** Returns the key of a name. Names with the same key identify the same label. */
export function labelKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase();
}

/** Returns the history entries of a change of an issue's labels: one for each added and each removed label. */
export function describeLabelChanges(
  before: readonly IssueLabel[],
  after: readonly IssueLabel[],
): LabelHistoryEntry[] {
  return [
    ...missingFrom(before, after).map(
      (label): LabelHistoryEntry => ({ kind: 'label_added', new: labelValue(label) }),
    ),
    ...missingFrom(after, before).map(
      (label): LabelHistoryEntry => ({ kind: 'label_removed', old: labelValue(label) }),
    ),
  ];
}

function labelValue({ id, name, color }: IssueLabel): IssueLabel {
  return { id, name, color };
}

function missingFrom(these: readonly IssueLabel[], others: readonly IssueLabel[]): IssueLabel[] {
  return others.filter(({ id }) => !these.some((label) => label.id === id));
}
