import '../styles/selection.css';
import { fieldTitles, formatNumber } from '../messages.ts';
import { notify } from '../shell/toasts.tsx';
import type { ChangedField } from './change-dialog.tsx';

interface SelectionBarProps {
  /** The number of the loaded issues. */
  loaded: number;
  /** The number of all issues that match the filters; undefined if it is not known. */
  total: number | undefined;
  onSelectAll: () => void;
  /** Not empty. */
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onOpen: (field: ChangedField, keys: readonly string[]) => void;
}

const fields = Object.keys(fieldTitles) as ChangedField[];

/** The number of the selected issues of a list or board, and their changes. */
export function SelectionBar({ selected, loaded, total, onSelect, onSelectAll, onOpen }: SelectionBarProps) {
  const hasMore = total === undefined || total > loaded;
  const isAllLoaded = hasMore && selected.size >= loaded;
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
      <span role="status">
        {formatNumber(selected.size)}
        {isAllLoaded && total !== undefined && ` of ${formatNumber(total)}`} selected
        {isAllLoaded && ': all that are loaded'}
      </span>
      {fields.map((field) => (
        <button type="button" key={field} onClick={() => onOpen(field, [...selected])}>
          {fieldTitles[field]}
        </button>
      ))}
      {selected.size < loaded && (
        <button type="button" onClick={onSelectAll}>
          Select all {formatNumber(loaded)}
          {hasMore && ' loaded'}
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
