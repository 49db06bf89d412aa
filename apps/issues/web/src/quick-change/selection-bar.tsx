import { fieldTitles, formatNumber } from '../messages.ts';
import { notify } from '../shell/toasts.tsx';
import type { ChangedField } from './change-dialog.tsx';

interface SelectionBarProps {
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onOpen: (field: ChangedField, keys: readonly string[]) => void;
}

const fields = ['status', 'priority', 'assignee', 'labels'] as const;

/** The number of the selected issues of a list or board, and their changes. */
export function SelectionBar({ selected, onSelect, onOpen }: SelectionBarProps) {
  if (selected.size === 0) return null;
  const copyKeys = async () => {
    try {
      await navigator.clipboard.writeText([...selected].join(', '));
      notify(`Copied ${[...selected].join(', ')}`);
    } catch {
      notify('The browser does not allow copying.');
    }
  };
  return (
    <div className="selection">
      <span role="status">{formatNumber(selected.size)} selected</span>
      {fields.map((field) => (
        <button type="button" key={field} onClick={() => onOpen(field, [...selected])}>
          {fieldTitles[field]}
        </button>
      ))}
      <button type="button" onClick={() => void copyKeys()}>
        Copy keys
      </button>
      <button type="button" className="quiet" onClick={() => onSelect(new Set())}>
        Clear
      </button>
    </div>
  );
}

/** Adds a key to the selection, or takes it away. */
export function toggled(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(key)) next.add(key);
  return next;
}
