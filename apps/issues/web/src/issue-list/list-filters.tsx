import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type RefObject, useEffect, useState } from 'react';
import { labelsQuery } from '../http/queries.ts';
import { priorities, priorityNames, statuses, statusNames } from '../messages.ts';
import { PersonPicker } from '../people/person-picker.tsx';
import { Picker } from '../people/picker.tsx';
import { LabelMark, PriorityMark, SearchIcon, StatusMark } from '../shell/icons.tsx';
import { onKey } from '../shell/keys.ts';
import { FurtherFilters } from './further-filters.tsx';
import {
  type Due,
  dues,
  isFiltered,
  items,
  type ListSearch,
  labelsIn,
  labelsText,
  type State,
  states,
} from './list-search.ts';

interface ListFiltersProps {
  search: ListSearch;
  /** May return when the list is that of the change. */
  onChange: (change: Record<string, string | undefined>) => unknown;
  onReset: () => void;
  searchField: RefObject<HTMLInputElement | null>;
  /** A board shows all statuses, in its own order. */
  isBoard?: boolean;
}

const firstFilterId = 'first-filter';

/** A list that is scrolled comes back to its filters only where they do not stay on screen. The other filters follow by Tab. */
export const filterCommand = {
  key: 'f',
  name: 'Filter by priority',
  run: () => {
    const button = document.getElementById(firstFilterId);
    button?.focus();
    button?.click();
  },
};

const stateNames: Record<State, string> = { open: 'Open', done: 'Done', all: 'All' };
const none = 'none';

export function ListFilters({ search, onChange, onReset, searchField, isBoard = false }: ListFiltersProps) {
  const { data: labels = [] } = useQuery(labelsQuery);
  const chosen = {
    status: items(search.status),
    priority: items(search.priority),
    assignee: items(search.assignee),
  };
  return (
    <search className="filters">
      <SearchField value={search.q ?? ''} onChange={(q) => onChange({ q })} field={searchField} />
      {!isBoard && (
        <>
          <fieldset className="segments">
            <legend className="visually-hidden">State</legend>
            {states.map((state) => (
              <button
                type="button"
                key={state}
                aria-pressed={chosen.status.length === 0 && (search.state ?? 'open') === state}
                onClick={() => onChange({ state, status: undefined })}
              >
                {stateNames[state]}
              </button>
            ))}
          </fieldset>
          <Picker
            label="Status"
            summary={summary(
              'Status',
              chosen.status.map((one) => statusNames[one as 'OPEN']),
            )}
            options={statuses.map((value) => ({
              value,
              name: statusNames[value],
              content: <StatusMark status={value} />,
            }))}
            selected={chosen.status}
            isMultiple
            onChange={(status) => onChange({ status: status.join() })}
          />
        </>
      )}
      <Picker
        label="Priority"
        buttonId={firstFilterId}
        summary={summary(
          'Priority',
          chosen.priority.map((one) => priorityNames[one as 'LOW']),
        )}
        options={priorities.map((value) => ({
          value,
          name: priorityNames[value],
          content: <PriorityMark priority={value} hasText />,
        }))}
        selected={chosen.priority}
        isMultiple
        onChange={(priority) => onChange({ priority: priority.join() })}
      />
      <PersonPicker
        label="Assignee"
        summary={summary(
          'Assignee',
          chosen.assignee.map((one) => assigneeNames[one] ?? 'chosen'),
        )}
        first={[
          { value: 'me', name: 'Me' },
          { value: none, name: 'No one' },
        ]}
        selected={chosen.assignee}
        isMultiple
        onChange={(assignee) => onChange({ assignee: assignee.join() })}
      />
      <Picker
        label="Label"
        summary={summary('Label', labelsIn(search.label))}
        options={labels.map(({ name, color }) => ({
          value: name,
          name,
          content: <LabelMark name={name} color={color} />,
        }))}
        selected={labelsIn(search.label)}
        isMultiple
        onChange={(label) => onChange({ label: labelsText(label) })}
      />
      <Picker
        label="Due date"
        summary={summary('Due', search.due === undefined ? [] : [dues[search.due]])}
        options={(Object.keys(dues) as Due[]).map((value) => ({ value, name: dues[value] }))}
        selected={search.due === undefined ? [] : [search.due]}
        onChange={([due]) => onChange({ due: due === search.due ? undefined : due })}
      />
      <FurtherFilters search={search} onChange={onChange} isBoard={isBoard} />
      {isFiltered(search) && (
        <button type="button" className="quiet" onClick={onReset}>
          Reset
        </button>
      )}
    </search>
  );
}

const assigneeNames: Readonly<Record<string, string>> = { me: 'Me', none: 'No one' };

function summary(name: string, chosen: readonly string[]) {
  if (chosen.length === 0) return name;
  return (
    <>
      {name}: <strong>{chosen.length > 2 ? chosen.length : chosen.join(', ')}</strong>
    </>
  );
}

interface SearchFieldProps {
  value: string;
  onChange: (value: string) => unknown;
  field: RefObject<HTMLInputElement | null>;
}

const typingPauseMs = 150;

function SearchField({ value, onChange, field }: SearchFieldProps) {
  const [typed, setTyped] = useState<string>();
  const navigate = useNavigate();
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(() => onChange(typed), typingPauseMs);
    return () => clearTimeout(timer);
  });
  // The URL has caught up, or another filter view was opened.
  useEffect(() => setTyped((now) => (now?.trim() === value.trim() ? undefined : now)), [value]);
  return (
    <div className="search">
      <SearchIcon />
      <input
        ref={field}
        type="search"
        aria-label="Search issues"
        dir="auto"
        placeholder="Search, or a key such as ISS-42"
        maxLength={200}
        value={typed ?? value}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={onKey(async (key, { currentTarget }: KeyboardEvent<HTMLInputElement>) => {
          const words = currentTarget.value.trim();
          const isKey = /^[a-z][a-z\d]*-\d{1,9}$/i.test(words);
          if (key !== 'Enter') return;
          if (!isKey) return void onChange(words);
          // The filters do not apply to a key, and the way back leads to the list without it.
          setTyped(undefined);
          await onChange('');
          await navigate({ to: '/issues/$key', params: { key: words.toUpperCase() } });
        })}
      />
    </div>
  );
}
