import { useState } from 'react';
import type { IssueRow } from '../http/api.ts';
import { dayAfter, dayName } from '../messages.ts';
import { Choices, type Option } from './choices.tsx';

type Due = Pick<IssueRow, 'due_on' | 'status'>;

export const isDone = ({ status }: Pick<Due, 'status'>) => status === 'RESOLVED' || status === 'CLOSED';

/** Whether an open issue was due before today. */
export const isOverdue = (issue: Due) =>
  issue.due_on !== null && issue.due_on < dayAfter(0) && !isDone(issue);

/** When an open issue is due, in a list. */
export function DueMark({ issue }: { issue: Due }) {
  const { due_on: day } = issue;
  if (day === null || isDone(issue)) return null;
  const isLate = isOverdue(issue);
  return (
    <span className={isLate ? 'due overdue' : 'due'} title={isLate ? 'Overdue' : 'Due'}>
      <span className="visually-hidden">{isLate ? 'Overdue since' : 'Due'} </span>
      {dayName(day)}
    </span>
  );
}

/** Says that an open issue blocks another open one. */
export const BlockedMark = ({ issue }: { issue: Pick<IssueRow, 'is_blocked' | 'status'> }) =>
  issue.is_blocked === true && !isDone(issue) ? <span className="blocked-mark">Blocked</span> : null;

export const firstDay = '1970-01-01';
const offers = [
  ['Today', 0],
  ['Tomorrow', 1],
  ['In a week', 7],
  ['In a month', 30],
] as const;

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const unitDays: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30 };

/** The day that words name: `mon`, `+3`, `in 2 weeks`, `dec 24`. */
function dayOf(words: string): string | undefined {
  const [, count, unit = 'd'] = /^(?:in |\+)? ?(\d{1,3}) ?(?:([dwm])[a-z]*)?$/.exec(words) ?? [];
  if (count !== undefined) return dayAfter(Number(count) * (unitDays[unit] ?? 1));
  const weekday = words.length < 2 ? -1 : weekdays.findIndex((name) => name.startsWith(words));
  if (weekday >= 0) return dayAfter(((weekday + 6 - new Date().getDay()) % 7) + 1);
  const [, name = '', date] = /^([a-z]{3})[a-z]* (\d{1,2})$/.exec(words) ?? [];
  const month = months.indexOf(name);
  const year = new Date().getFullYear();
  // Of the next year if it has passed in this one. There is no 30th of February.
  return [year, year + 1]
    .map((one) => new Date(Date.UTC(one, month, Number(date))))
    .filter((day) => month >= 0 && day.getUTCMonth() === month)
    .map((day) => day.toISOString().slice(0, 10))
    .find((day) => day >= dayAfter(0));
}

const fullDay = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});
const optionOf = (value: string, name = dayName(value)): Option => ({
  value,
  name,
  content: (
    <>
      {name} <span className="muted">{fullDay.format(new Date(value))}</span>
    </>
  ),
});

interface DueChoiceProps {
  /** Undefined if several issues have different ones. */
  day: string | null | undefined;
  onChange: (day: string | null) => void;
  onClose: () => void;
}

/** The content of the dialog that changes the due date. */
export function DueChoice({ day, onChange, onClose }: DueChoiceProps) {
  const [typed, setTyped] = useState(day ?? '');
  const offered = offers.map(([name, days]) => optionOf(dayAfter(days), name));
  const isOther = day && offered.every(({ value }) => value !== day);
  return (
    <>
      <Choices
        label="Due date"
        placeholder="fri, +3, in 2 weeks, dec 24"
        options={[...offered, ...(isOther ? [optionOf(day)] : []), { value: '', name: 'No due date' }]}
        selected={day === undefined ? [] : [day ?? '']}
        read={(words) => {
          const named = dayOf(words);
          return named && optionOf(named);
        }}
        onChange={([value]) => onChange(value || null)}
        onClose={onClose}
      />
      <form
        className="due-choice"
        onSubmit={(event) => {
          event.preventDefault();
          onChange(typed || null);
          onClose();
        }}
      >
        <input
          type="date"
          aria-label="Another day"
          min={firstDay}
          max="9999-12-31"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <button type="submit">Save</button>
      </form>
    </>
  );
}
