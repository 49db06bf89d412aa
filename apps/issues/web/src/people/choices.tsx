import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { onKey } from '../shell/keys.ts';

export interface Option {
  value: string;
  /** The name for the search and for screen readers. */
  name: string;
  content?: ReactNode;
}

export interface ChoicesProps {
  label: string;
  options: readonly Option[];
  selected: readonly string[];
  isMultiple?: boolean;
  onChange: (selected: string[]) => void;
  /** Searches outside; without it, the options are filtered by name. */
  onSearch?: ((text: string) => void) | undefined;
}

interface ClosableProps extends ChoicesProps {
  /** The user has chosen the only option, or pressed Escape. */
  onClose: () => void;
}

/** A search field with a listbox (ARIA combobox pattern). Takes the focus. */
export function Choices(props: ClosableProps) {
  const { label, selected, isMultiple = false, onChange, onSearch, onClose } = props;
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const id = useId();
  const words = search.trim().toLowerCase();
  const options =
    onSearch === undefined
      ? props.options.filter(({ name }) => name.toLowerCase().includes(words))
      : props.options;

  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active, id]);

  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    const { value } = option;
    if (!isMultiple) {
      onChange([value]);
      onClose();
    } else if (selected.includes(value)) onChange(selected.filter((one) => one !== value));
    else onChange([...selected, value]);
  };
  const press = onKey((key, event: KeyboardEvent) => {
    if (key === 'ArrowDown') setActive(Math.min(active + 1, options.length - 1));
    else if (key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else if (key === 'Enter') choose(options[active]);
    else if (key === 'Escape') onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label={`Search: ${label}`}
        dir="auto"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(options.length > 0 && { 'aria-activedescendant': `${id}-${active}` })}
        ref={(field) => {
          // Once, when the choices open. A dialog gives the focus to the field with the attribute.
          if (field === null || field.contains(document.activeElement)) return;
          field.setAttribute('autofocus', '');
          field.focus({ preventScroll: true });
        }}
        value={search}
        placeholder="Search"
        maxLength={150}
        onKeyDown={press}
        onChange={({ target }) => {
          setSearch(target.value);
          setActive(0);
          onSearch?.(target.value);
        }}
      />
      <div
        role="listbox"
        id={`${id}-list`}
        aria-label={label}
        aria-multiselectable={isMultiple}
        className="picker-list"
      >
        {options.map((option, index) => (
          // The combobox handles the keys; the focus stays there.
          <div
            key={option.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={selected.includes(option.value)}
            className={index === active ? 'option active' : 'option'}
            onClick={() => choose(option)}
            onPointerMove={() => setActive(index)}
          >
            <span className="option-check" aria-hidden="true">
              {selected.includes(option.value) ? '✓' : ''}
            </span>
            {option.content ?? option.name}
          </div>
        ))}
      </div>
      {options.length === 0 && <p className="muted picker-empty">No match</p>}
    </>
  );
}
