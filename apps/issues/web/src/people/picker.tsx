import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { ChevronIcon } from '../shell/icons.tsx';

export interface Option {
  value: string;
  /** The name for the search and for screen readers. */
  name: string;
  content?: ReactNode;
}

interface PickerProps {
  label: string;
  /** The text of the closed picker. */
  summary: ReactNode;
  options: readonly Option[];
  selected: readonly string[];
  isMultiple?: boolean;
  onChange: (selected: string[]) => void;
  /** Searches outside; without it, the options are filtered by name. */
  onSearch?: (text: string) => void;
  onOpen?: () => void;
  className?: string;
}

/** A button that opens a searchable listbox (ARIA combobox pattern). */
export function Picker(props: PickerProps) {
  const { label, summary, selected, isMultiple = false, onChange, onSearch, onOpen, className = '' } = props;
  const [isOpen, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const id = useId();
  const words = search.trim().toLowerCase();
  const options =
    onSearch === undefined
      ? props.options.filter(({ name }) => name.toLowerCase().includes(words))
      : props.options;

  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
    };
  }, [isOpen]);

  useLayoutEffect(() => {
    if (!isOpen || body.current === null) return;
    keepOnScreen(body.current);
    body.current.querySelector('input')?.focus({ preventScroll: true });
  }, [isOpen]);

  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active, isOpen, id]);

  const show = () => {
    setSearch('');
    onSearch?.('');
    onOpen?.();
    setActive(0);
    setOpen(true);
  };
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    const { value } = option;
    if (!isMultiple) {
      onChange([value]);
      close();
    } else if (selected.includes(value)) onChange(selected.filter((one) => one !== value));
    else onChange([...selected, value]);
  };
  const press = (event: KeyboardEvent) => {
    const { key } = event;
    if (key === 'ArrowDown') setActive(Math.min(active + 1, options.length - 1));
    else if (key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else if (key === 'Enter') choose(options[active]);
    else if (key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className={`picker ${className}`} ref={root}>
      <button
        type="button"
        ref={button}
        className="picker-button"
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        onClick={() => (isOpen ? close() : show())}
      >
        <span className="visually-hidden">{label}: </span>
        <span className="picker-summary">{summary}</span>
        <ChevronIcon />
      </button>
      {isOpen && (
        <div className="picker-body" ref={body}>
          <input
            type="text"
            role="combobox"
            aria-label={`Search: ${label}`}
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            {...(options.length > 0 && { 'aria-activedescendant': `${id}-${active}` })}
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
        </div>
      )}
    </div>
  );
}

const marginPx = 8;

/** Moves an opened list that would leave the screen. */
function keepOnScreen(body: HTMLElement): void {
  const { left, right, bottom, height } = body.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const shift = Math.min(0, clientWidth - marginPx - right) + Math.max(0, marginPx - left);
  if (shift !== 0) body.style.translate = `${shift}px 0`;
  const above = body.parentElement?.getBoundingClientRect().top ?? 0;
  if (bottom > clientHeight - marginPx && above > height + marginPx) body.classList.add('above');
}
