import { useEffect, useRef } from 'react';
import { type Conflict, fieldName } from './use-issue-changes.ts';

interface ConflictPanelProps {
  conflict: Conflict;
  onKeepMine: () => void;
  onTakeTheirs: () => void;
  /** Editing goes on with the text of the user. Absent for fields without text. */
  onEdit?: (() => void) | undefined;
}

/** Shows the three values of a field that two people have changed, and lets the user decide. */
export function ConflictPanel({ conflict, onKeepMine, onTakeTheirs, onEdit }: ConflictPanelProps) {
  const { field, base, theirs, mine } = conflict;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="conflict" aria-labelledby="conflict-title">
      <h2 id="conflict-title" tabIndex={-1} ref={heading}>
        Another person has changed the {fieldName(field)}
      </h2>
      <p>Nothing was saved. Compare the values and decide.</p>
      <div className="conflict-values">
        {[
          ['Before', base],
          ['Theirs', theirs],
          ['Yours', mine],
        ].map(([name, value]) => (
          <div key={name}>
            <h3>{name}</h3>
            <pre dir="auto">{value === '' ? '(empty)' : value}</pre>
          </div>
        ))}
      </div>
      <div className="actions">
        <button type="button" className="primary" onClick={onKeepMine}>
          Save mine
        </button>
        <button type="button" onClick={onTakeTheirs}>
          Take theirs
        </button>
        {onEdit !== undefined && (
          <button type="button" className="quiet" onClick={onEdit}>
            Edit mine
          </button>
        )}
      </div>
    </section>
  );
}
