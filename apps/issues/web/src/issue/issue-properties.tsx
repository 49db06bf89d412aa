import { useQuery } from '@tanstack/react-query';
import type { Issue, IssuePriority, IssueStatus, Label, User } from '@tessera/contracts';
import { type ReactNode, useState } from 'react';
import { labelsQuery } from '../http/queries.ts';
import { personName, priorities, priorityNames, statusNames } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { isOverdue } from '../people/due-date.tsx';
import { DueField } from '../people/due-field.tsx';
import { PersonPicker } from '../people/person-picker.tsx';
import { Picker } from '../people/picker.tsx';
import { useNewLabel } from '../people/use-new-label.ts';
import { ChangeDialog, type ChangedField } from '../quick-change/change-dialog.tsx';
import { valueCommands } from '../quick-change/use-quick-changes.tsx';
import type { RowChange } from '../quick-change/use-row-changes.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { notify } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { readersOf, useMayChange } from './access.ts';
import type { Change } from './use-issue-changes.ts';

interface IssuePropertiesProps {
  issue: Issue;
  latest: () => Issue | undefined;
  save: (change: Change) => Promise<boolean>;
}

const none = 'none';

export function IssueProperties({ issue, latest, save }: IssuePropertiesProps) {
  const { data: known = [] } = useQuery(labelsQuery);
  const { status, allowed_transitions, priority, assignee, labels } = issue;
  const nextStatuses = [status, ...allowed_transitions.filter((one) => one !== status)];
  // The next key can come before the page shows the last change.
  const labelIds = () => (latest() ?? issue).labels.map(({ id }) => id);
  const changeLabels = (ids: readonly string[], ...made: Label[]) => {
    const all = new Map([...labels, ...made, ...known].map((label) => [label.id, label]));
    const chosen = [...all.values()].filter(({ id }) => ids.includes(id));
    const sent = { labels: chosen.map(({ id }) => ({ id })) };
    void save({ field: 'labels', shown: { labels: chosen }, sent });
  };
  const createLabel = useNewLabel((label) => change({ add: label }));
  const me = useUser();
  const isReadOnly = !useMayChange(issue);
  const isOpen = issue.project.visibility === 'everyone';
  // A key opens a dialog: the page stays where it is, and the choice is on the screen.
  const [opened, setOpened] = useState<ChangedField>();
  const open = (field: ChangedField) => () => {
    if (isReadOnly) notify('You may not change this issue.');
    else setOpened(field);
  };
  const own: User = { id: me.id, username: me.username, ...(me.name !== null && { name: me.name }) };
  const assign = (person: User | null) =>
    void save({ field: 'assignee', shown: { assignee: person }, sent: { assignee_id: person?.id ?? null } });
  const change = (one: RowChange) => {
    if ('status' in one) void save({ field: 'status', shown: one, sent: one });
    else if ('priority' in one) void save({ field: 'priority', shown: one, sent: one });
    else if ('due_on' in one) void save({ field: 'due_on', shown: one, sent: one });
    else if ('assignee' in one) assign(one.assignee);
    else if ('add' in one) changeLabels([...labelIds(), one.add.id], one.add);
    else changeLabels(labelIds().filter((id) => id !== one.remove.id));
  };
  useCommands(
    ofIssue([
      { key: 's', name: 'Change the status', run: open('status') },
      { key: 'p', name: 'Change the priority', run: open('priority') },
      {
        key: 'a',
        name: 'Change the assignee',
        run: open('assignee'),
        ...(!isReadOnly && { assign }),
      },
      { key: 'd', name: 'Change the due date', run: open('due_on') },
      { key: 'l', name: 'Change the labels', run: open('labels') },
      {
        key: 'i',
        name: 'Assign to me',
        run: () => {
          if (assignee?.id !== me.id) assign(own);
        },
      },
      ...(isReadOnly ? [] : valueCommands(allowed_transitions, change)),
    ]),
  );
  return (
    <aside className="properties" aria-label="Properties">
      <Property name="Status">
        <Picker
          label="Status"
          isDisabled={isReadOnly}
          summary={<StatusMark status={status} />}
          options={nextStatuses.map((value) => ({
            value,
            name: statusNames[value],
            content: <StatusMark status={value} />,
          }))}
          selected={[status]}
          onChange={([value]) => {
            const next = value as IssueStatus;
            if (next !== status)
              void save({ field: 'status', shown: { status: next }, sent: { status: next } });
          }}
        />
      </Property>
      <Property name="Priority">
        <Picker
          label="Priority"
          isDisabled={isReadOnly}
          summary={<PriorityMark priority={priority} hasText />}
          options={priorities.map((value) => ({
            value,
            name: priorityNames[value],
            content: <PriorityMark priority={value} hasText />,
          }))}
          selected={[priority]}
          onChange={([value]) => {
            const next = value as IssuePriority;
            if (next !== priority)
              void save({ field: 'priority', shown: { priority: next }, sent: { priority: next } });
          }}
        />
      </Property>
      <Property name="Assignee">
        <PersonPicker
          label="Assignee"
          isDisabled={isReadOnly}
          summary={
            assignee === null ? (
              'No one'
            ) : (
              <span className="person">
                <Avatar person={assignee} />
                <span className="person-name" dir="auto">
                  {personName(assignee)}
                </span>
              </span>
            )
          }
          first={[{ value: none, name: 'No one' }]}
          selected={[assignee?.id ?? none]}
          readersOf={readersOf(issue)}
          onChange={([value], people) => {
            const next = people.find(({ id }) => id === value) ?? null;
            if (next?.id !== assignee?.id) assign(next);
          }}
        />
      </Property>
      <Property name="Due date">
        <DueField
          day={issue.due_on}
          isOverdue={isOverdue(issue)}
          isDisabled={isReadOnly}
          onChange={(due_on) => change({ due_on })}
        />
      </Property>
      <Property name="Labels">
        <Picker
          label="Labels"
          isDisabled={isReadOnly}
          summary={labels.length === 0 ? 'None' : labels.map((one) => <LabelMark key={one.id} {...one} />)}
          options={known.map(({ id, name, color }) => ({
            value: id,
            name,
            content: <LabelMark name={name} color={color} />,
          }))}
          selected={labels.map(({ id }) => id)}
          isMultiple
          onCreate={createLabel}
          onChange={(ids) => changeLabels(ids)}
        />
      </Property>
      <Property name="Changed">
        <RelativeTime at={issue.updated_at} />
      </Property>
      {opened !== undefined && (
        <ChangeDialog
          field={opened}
          issues={[issue]}
          onChange={change}
          onClose={() => setOpened(undefined)}
        />
      )}
      {isReadOnly && (
        <p className="muted">
          {isOpen
            ? 'The reporter, the assignee and staff change this issue.'
            : 'The reporter, the assignee and members of the project change this issue.'}
          {isOpen && assignee === null && ' You can assign it to yourself.'}
        </p>
      )}
      {isReadOnly && isOpen && assignee === null && (
        <button type="button" className="watch" onClick={() => assign(own)}>
          Assign to me
        </button>
      )}
    </aside>
  );
}

function Property({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="property">
      <span className="property-name">{name}</span>
      <div className="property-value">{children}</div>
    </div>
  );
}
