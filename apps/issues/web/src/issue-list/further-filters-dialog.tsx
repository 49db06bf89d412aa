import '../styles/views.css';
import { useQuery } from '@tanstack/react-query';
import { labelsQuery, projectsQuery } from '../http/queries.ts';
import { priorities, priorityNames, statuses, statusNames } from '../messages.ts';
import type { Option } from '../people/choices.tsx';
import { PersonPicker } from '../people/person-picker.tsx';
import { Picker } from '../people/picker.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import { furtherFilters, items, type ListSearch, labelsIn, labelsText } from './list-search.ts';

export interface FurtherFiltersProps {
  search: ListSearch;
  onChange: (change: Record<string, string | undefined>) => void;
  isBoard: boolean;
  onClose: () => void;
}

const me: Option = { value: 'me', name: 'Me' };
const none: Option = { value: 'none', name: 'No one' };
const ranges = [
  ['created', 'Created'],
  ['updated', 'Changed'],
] as const;

const chosen = (names: readonly string[]) => (names.length === 0 ? 'Any' : names.join(', '));
const excluded = (names: readonly string[]) => (names.length === 0 ? 'None' : names.join(', '));
const personNames = (ids: readonly string[]) =>
  ids.map((id) => (id === me.value ? me.name : id === none.value ? none.name : 'a person'));

/** Filters by reporter, watching and dates, and what the list leaves out. They act at once. */
export function FurtherFiltersDialog({ search, onChange, isBoard, onClose }: FurtherFiltersProps) {
  const { data: labels = [] } = useQuery(labelsQuery);
  const { data: projects = [] } = useQuery(projectsQuery);
  const inProjects = items(search.project);
  const reporter = items(search.reporter);
  const without = {
    status: items(search['-status']),
    priority: items(search['-priority']),
    assignee: items(search['-assignee']),
    reporter: items(search['-reporter']),
    label: labelsIn(search['-label']),
  };
  return (
    <Dialog title="Further filters" onClose={onClose} isWide isAtTop>
      <div className="further">
        {(projects.length > 1 || inProjects.length > 0) && (
          <div className="further-row">
            <span>Project</span>
            <Picker
              label="Project"
              summary={chosen(inProjects)}
              options={projects.map(({ key, name }) => ({ value: key, name: `${key} ${name}` }))}
              selected={inProjects}
              isMultiple
              onChange={(project) => onChange({ project: project.join() })}
            />
          </div>
        )}
        <div className="further-row">
          <span>Reporter</span>
          <PersonPicker
            label="Reporter"
            summary={chosen(personNames(reporter))}
            first={[me]}
            selected={reporter}
            onChange={([id]) => onChange({ reporter: id === search.reporter ? undefined : id })}
          />
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={search.watcher === 'me'}
            onChange={({ target }) => onChange({ watcher: target.checked ? 'me' : undefined })}
          />
          Only what I watch
        </label>
        {ranges.map(([name, title]) => (
          <fieldset key={name} className="further-row">
            <legend className="visually-hidden">{title}</legend>
            <span aria-hidden="true">{title}</span>
            {(['from', 'to'] as const).map((end) => (
              <label key={end}>
                <span className="muted">{end === 'from' ? 'from' : 'to'}</span>
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
        ))}
        <h3>Leave out</h3>
        {!isBoard && (
          <div className="further-row">
            <span>Status</span>
            <Picker
              label="Without status"
              summary={excluded(without.status.map((one) => statusNames[one as 'OPEN']))}
              options={statuses
                .filter((one) => !items(search.status).includes(one))
                .map((value) => ({
                  value,
                  name: statusNames[value],
                  content: <StatusMark status={value} />,
                }))}
              selected={without.status}
              isMultiple
              onChange={(status) => onChange({ '-status': status.join() })}
            />
          </div>
        )}
        <div className="further-row">
          <span>Priority</span>
          <Picker
            label="Without priority"
            summary={excluded(without.priority.map((one) => priorityNames[one as 'LOW']))}
            options={priorities
              .filter((one) => !items(search.priority).includes(one))
              .map((value) => ({
                value,
                name: priorityNames[value],
                content: <PriorityMark priority={value} hasText />,
              }))}
            selected={without.priority}
            isMultiple
            onChange={(priority) => onChange({ '-priority': priority.join() })}
          />
        </div>
        {(['assignee', 'reporter'] as const).map((name) => (
          <div key={name} className="further-row">
            <span>{name === 'assignee' ? 'Assignee' : 'Reporter'}</span>
            <PersonPicker
              label={`Without ${name}`}
              summary={excluded(personNames(without[name]))}
              first={name === 'assignee' ? [me, none] : [me]}
              selected={without[name]}
              isMultiple
              onChange={(people) => onChange({ [`-${name}`]: people.join() })}
            />
          </div>
        ))}
        <div className="further-row">
          <span>Labels</span>
          <Picker
            label="Without labels"
            summary={excluded(without.label)}
            options={labels
              .filter(({ name }) => !labelsIn(search.label).includes(name))
              .map(({ name, color }) => ({
                value: name,
                name,
                content: <LabelMark name={name} color={color} />,
              }))}
            selected={without.label}
            isMultiple
            onChange={(label) => onChange({ '-label': labelsText(label) })}
          />
        </div>
        <div className="actions end">
          <button
            type="button"
            onClick={() => onChange(Object.fromEntries(furtherFilters.map((name) => [name, undefined])))}
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
