import { useQuery } from '@tanstack/react-query';
import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';
import { labelsQuery } from '../http/queries.ts';
import { fieldTitles, formatNumber, priorities, priorityNames, statuses, statusNames } from '../messages.ts';
import { Choices, type Option } from '../people/choices.tsx';
import { DueChoice } from '../people/due-date.tsx';
import { usePeople } from '../people/person-picker.tsx';
import { useNewLabel } from '../people/use-new-label.ts';
import { Dialog } from '../shell/dialog.tsx';
import { LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import type { RowChange } from './use-row-changes.ts';

export type ChangedField = keyof typeof fieldTitles;

interface ChangeDialogProps {
  field: ChangedField;
  issues: readonly IssueRow[];
  onChange: (change: RowChange) => void;
  onClose: () => void;
}

const hasLabel = (id: string) => (one: IssueRow) => one.labels.some((label) => label.id === id);

const none: Option = { value: 'none', name: 'No one' };

/** Changes one field of one or several issues. */
export function ChangeDialog({ field, issues, onChange, onClose }: ChangeDialogProps) {
  const { data: labels = [] } = useQuery({ ...labelsQuery, enabled: field === 'labels' });
  // Of several issues, the service says which the person may not read.
  const restricted = issues.filter(({ project }) => project.visibility !== 'everyone');
  const people = usePeople(
    [none],
    field === 'assignee',
    restricted.length === 1 ? restricted[0]?.key : undefined,
  );
  const createLabel = useNewLabel((label) => onChange({ add: label }));
  const [issue] = issues;
  const of = issues.length === 1 ? issue?.key : `${formatNumber(issues.length)} issues`;
  const common = { label: fieldTitles[field], onClose };
  const isOnAll = (test: (one: IssueRow) => boolean) => issues.every(test);
  const current = statuses.filter((value) => isOnAll(({ status }) => status === value));
  return (
    <Dialog title={`${fieldTitles[field]} of ${of}`} onClose={onClose} isAtTop>
      <div>
        {field === 'status' && (
          <Choices
            {...common}
            options={[
              ...current,
              ...statuses.filter(
                (status) =>
                  !current.includes(status) && issues.some((one) => one.allowed_transitions.includes(status)),
              ),
            ].map((value) => ({
              value,
              name: statusNames[value],
              content: <StatusMark status={value} />,
            }))}
            selected={current}
            onChange={([status]) => {
              if (!current.includes(status as IssueStatus)) onChange({ status: status as IssueStatus });
            }}
          />
        )}
        {field === 'status' && issues.length > 1 && <p className="muted">It cannot be undone.</p>}
        {field === 'priority' && (
          <Choices
            {...common}
            options={priorities.map((value) => ({
              value,
              name: priorityNames[value],
              content: <PriorityMark priority={value} hasText />,
            }))}
            selected={priorities.filter((value) => isOnAll(({ priority }) => priority === value))}
            onChange={([value]) => {
              const priority = value as IssuePriority;
              if (!isOnAll((one) => one.priority === priority)) onChange({ priority });
            }}
          />
        )}
        {field === 'assignee' && (
          <Choices
            {...common}
            options={people.options}
            isPending={people.isPending}
            onSearch={people.onSearch}
            selected={people.options
              .map(({ value }) => value)
              .filter((value) => isOnAll(({ assignee }) => (assignee?.id ?? none.value) === value))}
            onChange={([value]) => {
              const assignee = people.people.find(({ id }) => id === value) ?? null;
              if (!isOnAll((one) => one.assignee?.id === assignee?.id)) onChange({ assignee });
            }}
          />
        )}
        {field === 'due_on' && (
          <DueChoice
            day={isOnAll(({ due_on }) => due_on === issue?.due_on) ? issue?.due_on : undefined}
            onChange={(due_on) => {
              if (!isOnAll((one) => one.due_on === due_on)) onChange({ due_on });
            }}
            onClose={onClose}
          />
        )}
        {field === 'labels' && (
          <Choices
            {...common}
            options={labels.map(({ id, name, color }) => ({
              value: id,
              name,
              content: <LabelMark name={name} color={color} />,
            }))}
            selected={labels.map(({ id }) => id).filter((id) => isOnAll(hasLabel(id)))}
            mixed={labels.map(({ id }) => id).filter((id) => issues.some(hasLabel(id)))}
            isMultiple
            onCreate={createLabel}
            onChange={(ids, value) => {
              const label = labels.find(({ id }) => id === value);
              if (label !== undefined) onChange(ids.includes(value) ? { add: label } : { remove: label });
            }}
          />
        )}
      </div>
    </Dialog>
  );
}
