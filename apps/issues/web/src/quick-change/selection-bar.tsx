import '../styles/selection.css';
import { fieldTitles, formatNumber } from '../messages.ts';
import { notify } from '../shell/toasts.tsx';
import type { ChangedField } from './change-dialog.tsx';

interface SelectionBarProps {
  /** The number of the loaded issues. */
  loaded: number;
  onSelectAll: () => void;
  /** Not empty. */
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onOpen: (field: ChangedField, keys: readonly string[]) => void;
}

const fields = Object.keys(fieldTitles) as ChangedField[];

/** The number of the selected issues of a list or board, and their changes. */
export function SelectionBar({ selected, loaded, onSelect, onSelectAll, onOpen }: SelectionBarProps) {
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
      {selected.size < loaded && (
        <button type="button" onClick={onSelectAll}>
          All {formatNumber(loaded)}
        </button>
      )}
      <button type="button" onClick={() => void copyKeys()}>
        Copy keys
      </button>
      <button type="button" className="quiet" onClick={() => onSelect(new Set())}>
        Clear
      </button>
    </div>
  );
}
