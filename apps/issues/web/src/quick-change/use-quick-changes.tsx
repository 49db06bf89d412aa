import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import { type ReactNode, useState } from 'react';
import type { IssueRow } from '../http/api.ts';
import { priorities, priorityNames, statuses, statusNames } from '../messages.ts';
import { type Command, ofIssue } from '../shell/commands.ts';
import { useUser } from '../shell/user.ts';
import { ChangeDialog, type ChangedField } from './change-dialog.tsx';
import { useRowChanges } from './use-row-changes.ts';

/** The commands that set a status or a priority. */
export function valueCommands(
  nextStatuses: readonly IssueStatus[],
  change: (one: { status: IssueStatus } | { priority: IssuePriority }) => void,
): Command[] {
  return [
    ...nextStatuses.map((status) => ({
      name: `Set the status to ${statusNames[status]}`,
      isValue: true,
      run: () => change({ status }),
    })),
    ...priorities.map((priority) => ({
      name: `Set the priority to ${priorityNames[priority]}`,
      isValue: true,
      run: () => change({ priority }),
    })),
  ];
}

interface QuickChanges {
  commands: Command[];
  open: (field: ChangedField, keys: readonly string[]) => void;
  /** The open dialog. */
  dialog: ReactNode;
}

/**
 * Changes of the issues that `targets` returns, from a list or a board.
 * @param issues the loaded issues
 */
export function useQuickChanges(issues: readonly IssueRow[], targets: () => readonly string[]): QuickChanges {
  const me = useUser();
  const change = useRowChanges();
  const [opened, setOpened] = useState<{ field: ChangedField; keys: readonly string[] }>();
  const rows = (keys: readonly string[]) => issues.filter(({ key }) => keys.includes(key));
  const open = (field: ChangedField, keys: readonly string[]) => {
    if (keys.length > 0) setOpened({ field, keys });
  };
  const assignee = { id: me.id, username: me.username, ...(me.name !== null && { name: me.name }) };
  return {
    commands: ofIssue([
      { key: 's', name: 'Change the status', run: () => open('status', targets()) },
      { key: 'p', name: 'Change the priority', run: () => open('priority', targets()) },
      {
        key: 'a',
        name: 'Change the assignee',
        run: () => open('assignee', targets()),
        assign: (person) => void change(rows(targets()), { assignee: person }),
      },
      { key: 'd', name: 'Change the due date', run: () => open('due_on', targets()) },
      { key: 'l', name: 'Change the labels', run: () => open('labels', targets()) },
      { key: 'i', name: 'Assign to me', run: () => void change(rows(targets()), { assignee }) },
      ...valueCommands(statuses, (one) => void change(rows(targets()), one)),
    ]),
    open,
    dialog: opened !== undefined && rows(opened.keys).length > 0 && (
      <ChangeDialog
        field={opened.field}
        issues={rows(opened.keys)}
        onChange={(one) => void change(rows(opened.keys), one)}
        onClose={() => setOpened(undefined)}
      />
    ),
  };
}
