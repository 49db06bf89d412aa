import { useState } from 'react';
import { onKey } from '../shell/keys.ts';
import { firstDay } from './due-date.tsx';

interface DueFieldProps {
  day: string | null;
  isOverdue?: boolean;
  isDisabled?: boolean;
  onChange: (day: string | null) => void;
}

/** Every key of a date is a day already, so the field changes it when it is left, or with Enter. */
export function DueField({ day, isOverdue: isLate = false, isDisabled = false, onChange }: DueFieldProps) {
  const [typed, setTyped] = useState<string>();
  const save = () => {
    setTyped(undefined);
    const next = typed === '' ? null : typed;
    if (next !== undefined && next !== day && (next === null || next >= firstDay)) onChange(next);
  };
  return (
    <input
      type="date"
      aria-label="Due date"
      className={['due-field', isLate && 'overdue', day === null && 'empty'].filter(Boolean).join(' ')}
      min={firstDay}
      max="9999-12-31"
      disabled={isDisabled}
      value={typed ?? day ?? ''}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={save}
      onKeyDown={onKey((key) => {
        if (key === 'Enter') save();
      })}
    />
  );
}
