import '../styles/views.css';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import { labelsQuery, projectsQuery } from '../http/queries.ts';
import { priorities, priorityNames, statuses, statusNames } from '../messages.ts';
import type { Option } from '../people/choices.tsx';
import { PersonPicker } from '../people/person-picker.tsx';
import { Picker } from '../people/picker.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import {
  type FurtherFilter,
  furtherFilters,
  items,
  type ListSearch,
  labelsIn,
  labelsText,
} from './list-search.ts';

export interface FurtherFiltersProps {
  search: ListSearch;
  onChange: (change: Record<string, string | undefined>) => void;
  isBoard: boolean;
  onClose: () => void;
}

const me: Option = { value: 'me', name: 'Me' };
const none: Option = { value: 'none', name: 'No one' };
const chosen = (names: readonly string[]) => (names.length === 0 ? 'Any' : names.join(', '));
const excluded = (names: readonly string[]) => (names.length === 0 ? 'None' : names.join(', '));
const personNames = (ids: readonly string[]) =>
  ids.map((id) => (id === me.value ? me.name : id === none.value ? none.name : 'a person'));

interface RowProps {
  title: string;
  children: ReactNode;
}

const Row = ({ title, children }: RowProps) => (
  <div className="further-row">
    <span>{title}</span>
    {children}
  </div>
);

/** What the list has, and what it leaves out. The filters act at once. */
export function FurtherFiltersDialog({ search, onChange, isBoard, onClose }: FurtherFiltersProps) {
  const { data: labels = [] } = useQuery(labelsQuery);
  const { data: projects = [] } = useQuery(projectsQuery);
  const inProjects = items(search.project);
  // Only labels have commas to write.
  const withoutAny = (name: 'status' | 'priority' | 'label', title: string, all: readonly Option[]) => {
    const left = labelsIn(search[`-${name}`]);
    return (
      <Row title={title}>
        <Picker
          label={`Without ${title.toLowerCase()}`}
          summary={excluded(left.map((one) => all.find(({ value }) => value === one)?.name ?? one))}
          options={all.filter(({ value }) => !labelsIn(search[name]).includes(value))}
          selected={left}
          isMultiple
          onChange={(values) => onChange({ [`-${name}`]: labelsText(values) })}
        />
      </Row>
    );
  };
  const withoutPeople = (name: 'assignee' | 'reporter', title: string, first: Option[]) => (
    <Row title={title}>
      <PersonPicker
        label={`Without ${name}`}
        summary={excluded(personNames(items(search[`-${name}`])))}
        first={first}
        selected={items(search[`-${name}`])}
        isMultiple
        onChange={(people) => onChange({ [`-${name}`]: people.join() })}
      />
    </Row>
  );
  const range = (name: 'created' | 'updated', title: string) => (
    <fieldset className="further-row">
      <legend className="visually-hidden">{title}</legend>
      <span aria-hidden="true">{title}</span>
      {(['from', 'to'] as const).map((end) => (
        <label key={end}>
          <span className="muted">{end}</span>
          <input
            type="date"
            min="1970-01-01"
            max="2999-12-31"
            aria-label={`${title} ${end}`}
            value={search[`${name}_${end}`] ?? ''}
            onChange={({ target }) => onChange({ [`${name}_${end}`]: target.value || undefined })}
          />
        </label>
      ))}
    </fieldset>
  );
  // The row of the first day of a range also has the last one.
  const rows: Record<Exclude<FurtherFilter, `${string}_to`>, ReactNode> = {
    project: (projects.length > 1 || inProjects.length > 0) && (
      <Row title="Project">
        <Picker
          label="Project"
          summary={chosen(inProjects)}
          options={projects.map(({ key, name }) => ({ value: key, name: `${key} ${name}` }))}
          selected={inProjects}
          isMultiple
          onChange={(project) => onChange({ project: project.join() })}
        />
      </Row>
    ),
    reporter: (
      <Row title="Reporter">
        <PersonPicker
          label="Reporter"
          summary={chosen(personNames(items(search.reporter)))}
          first={[me]}
          selected={items(search.reporter)}
          onChange={([id]) => onChange({ reporter: id === search.reporter ? undefined : id })}
        />
      </Row>
    ),
    watcher: (
      <label className="check">
        <input
          type="checkbox"
          checked={search.watcher === 'me'}
          onChange={({ target }) => onChange({ watcher: target.checked ? 'me' : undefined })}
        />
        Only what I watch
      </label>
    ),
    created_from: range('created', 'Created'),
    updated_from: range('updated', 'Changed'),
    '-status':
      !isBoard &&
      withoutAny(
        'status',
        'Status',
        statuses.map((value) => ({
          value,
          name: statusNames[value],
          content: <StatusMark status={value} />,
        })),
      ),
    '-priority': withoutAny(
      'priority',
      'Priority',
      priorities.map((value) => ({
        value,
        name: priorityNames[value],
        content: <PriorityMark priority={value} hasText />,
      })),
    ),
    '-assignee': withoutPeople('assignee', 'Assignee', [me, none]),
    '-reporter': withoutPeople('reporter', 'Reporter', [me]),
    '-label': withoutAny(
      'label',
      'Labels',
      labels.map(({ name, color }) => ({
        value: name,
        name,
        content: <LabelMark name={name} color={color} />,
      })),
    ),
  };
  const rowsThat = (leaveOut: boolean) =>
    Object.entries(rows).flatMap(([name, row]) =>
      name.startsWith('-') === leaveOut ? [<Fragment key={name}>{row}</Fragment>] : [],
    );
  return (
    <Dialog title="Further filters" onClose={onClose} isWide isAtTop>
      <div className="further">
        {rowsThat(false)}
        <h3>Leave out</h3>
        {rowsThat(true)}
        <div className="actions end">
          <button
            type="button"
            onClick={() =>
              onChange(Object.fromEntries(Object.keys(furtherFilters).map((name) => [name, undefined])))
            }
          >
            Clear
          </button>
          <button type="button" className="primary" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}
