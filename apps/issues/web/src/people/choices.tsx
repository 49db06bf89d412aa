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
  /** @param value the one that was chosen, or taken away */
  onChange: (selected: string[], value: string) => void;
  /** Searches outside; without it, the options are filtered by name. */
  onSearch?: ((text: string) => void) | undefined;
  /** The options for what was typed have not arrived yet. */
  isPending?: boolean;
  placeholder?: string;
  /** The option that words name, and that no one has to offer. The words are in lower case. */
  read?: (words: string) => Option | undefined | '';
  /** What is said without an option. */
  empty?: string | undefined;
  /** Of several issues: the values that at least one of them has. */
  mixed?: readonly string[];
  /** The search is for numbers, so a digit chooses nothing. */
  hasNumbers?: boolean;
  /** Makes an option with the typed name, and chooses it. */
  onCreate?: ((name: string) => void) | undefined;
}

// The sort is stable: what begins with the words is before what contains them.
const beginsWith = ({ name }: Option, words: string) =>
  Number(` ${name.toLowerCase()}`.includes(` ${words}`));
const createValue = 'create';
const shortLength = 5;

// Once, when the choices open: React calls another function of each rendering again. A dialog gives the focus to the element with
// the attribute.
function takeFocus(element: HTMLElement | null): void {
  element?.setAttribute('autofocus', '');
  element?.focus({ preventScroll: true });
}

interface ClosableProps extends ChoicesProps {
  /** The user has chosen the only option, or pressed Escape. */
  onClose: () => void;
}

/** A search field with a listbox (ARIA combobox pattern). Takes the focus. */
export function Choices(props: ClosableProps) {
  const {
    label,
    isMultiple = false,
    onChange,
    onSearch,
    isPending = false,
    hasNumbers,
    onCreate,
    placeholder = 'Search',
    read,
    empty = 'No match',
    mixed = [],
    onClose,
  } = props;
  // The next key can come before what was chosen has arrived from outside.
  const outside = props.selected.join();
  const [chosen, setChosen] = useState({ outside, selected: props.selected });
  if (chosen.outside !== outside) setChosen({ outside, selected: props.selected });
  const { selected } = chosen.outside === outside ? chosen : props;
  const [search, setSearch] = useState('');
  const words = search.trim().toLowerCase();
  const found =
    onSearch === undefined
      ? props.options
          .filter(({ name }) => name.toLowerCase().includes(words))
          .sort((one, other) => beginsWith(other, words) - beginsWith(one, words))
      : props.options;
  const named = words && read?.(words);
  const known = named ? [named, ...found.filter(({ value }) => value !== named.value)] : found;
  const isNew =
    onCreate !== undefined && words !== '' && found.every(({ name }) => name.toLowerCase() !== words);
  const options = isNew ? [...known, { value: createValue, name: `Create “${search.trim()}”` }] : known;
  // The current value of a single choice, so that Enter changes nothing.
  const [activeValue, setActiveValue] = useState(isMultiple ? undefined : selected[0]);
  const place = options.findIndex(({ value }) => value === activeValue);
  // Of several issues with different values, none is the current one.
  const isUndecided = !isMultiple && activeValue === undefined && words === '';
  const active = place >= 0 || isUndecided ? place : 0;
  const setActive = (index: number) => setActiveValue(options[Math.max(0, index)]?.value);
  const id = useId();

  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active, id]);

  const find = (text: string) => {
    setSearch(text);
    setActiveValue(undefined);
    onSearch?.(text);
  };
  const isOn = ({ value }: Option) => selected.includes(value);
  const isMixed = (option: Option) => mixed.includes(option.value) && !isOn(option);
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    const { value } = option;
    if (value === createValue) onCreate?.(search.trim());
    else if (!isMultiple) onChange([value], value);
    else {
      const next = isOn(option) ? selected.filter((one) => one !== value) : [...selected, value];
      setChosen({ outside, selected: next });
      onChange(next, value);
    }
    if (!isMultiple) return onClose();
    // The next one can be typed.
    find('');
    setActiveValue(value === createValue ? undefined : value);
  };
  // Enter acts on what was typed, when it arrives.
  const [isWaiting, setWaiting] = useState(false);
  const isReady = isWaiting && !isPending;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the options have arrived
  useEffect(() => {
    if (!isReady) return;
    setWaiting(false);
    choose(options[0]);
  }, [isReady]);
  const digit = (key: string) =>
    /^[1-9]$/.test(key) && search === '' && !hasNumbers ? options[Number(key) - 1] : undefined;
  const press = onKey((key, event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === 'ArrowDown') setActive(Math.min(active + 1, options.length - 1));
    else if (key === 'ArrowUp') setActive(active - 1);
    else if (key === 'Enter' && isPending && options.length === 0) setWaiting(true);
    else if (key === 'Enter') choose(options[active]);
    else if (key === 'Escape') onClose();
    else if (digit(key) !== undefined) choose(digit(key));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // The keyboard of a phone would cover a short list.
  const isShort =
    onSearch === undefined && props.options.length <= shortLength && matchMedia('(pointer: coarse)').matches;

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
        {...(active >= 0 && options.length > 0 && { 'aria-activedescendant': `${id}-${active}` })}
        ref={isShort ? undefined : takeFocus}
        value={search}
        placeholder={placeholder}
        maxLength={150}
        onKeyDown={press}
        onChange={({ target }) => {
          setWaiting(false);
          find(target.value);
        }}
      />
      <div
        role="listbox"
        id={`${id}-list`}
        aria-label={label}
        aria-multiselectable={isMultiple}
        className={search === '' && !hasNumbers ? 'picker-list numbered' : 'picker-list'}
        {...(isShort && { tabIndex: -1, ref: takeFocus, onKeyDown: press })}
      >
        {options.map((option, index) => (
          // The combobox handles the keys; the focus stays there.
          <div
            key={option.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={isOn(option)}
            {...(mixed.length > 0 && { 'aria-checked': isMixed(option) ? 'mixed' : isOn(option) })}
            className={index === active ? 'option active' : 'option'}
            // The focus stays, also where what is around the list could take it, as a dialog that scrolls does.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
            onPointerMove={() => setActive(index)}
          >
            <span className="option-check" aria-hidden="true">
              {isOn(option) ? '✓' : isMixed(option) ? '–' : ''}
            </span>
            {option.content ?? option.name}
          </div>
        ))}
      </div>
      {options.length === 0 && <p className="muted picker-empty">{isPending ? 'Searching…' : empty}</p>}
    </>
  );
}
