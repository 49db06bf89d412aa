import { useState } from 'react';
import type { IssueRow } from '../http/api.ts';
import { dayAfter, dayName } from '../messages.ts';
import { focusFirst } from '../shell/dialog.tsx';

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

/** The content of the dialog that changes the due date. */
export function DueChoice({ day, onChange }: { day: string | null; onChange: (day: string | null) => void }) {
  const [typed, setTyped] = useState(day ?? '');
  return (
    <form
      className="due-choice"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed === '' ? null : typed);
      }}
    >
      <label className="field">
        Due date
        <input
          ref={focusFirst}
          type="date"
          min={firstDay}
          max="9999-12-31"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <div className="due-offers">
        {offers.map(([name, days]) => (
          <button type="button" key={name} onClick={() => onChange(dayAfter(days))}>
            {name}
          </button>
        ))}
        {day !== null && (
          <button type="button" onClick={() => onChange(null)}>
            No due date
          </button>
        )}
        <button type="submit" className="primary">
          Save
        </button>
      </div>
    </form>
  );
}
