import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useState } from 'react';
import { listIssues } from '../http/api.ts';
import { shownKeys, useAllCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { StatusMark } from '../shell/icons.tsx';
import { onKey } from '../shell/keys.ts';
import { useSettled } from '../shell/use-settled.ts';

const found = 8;
const isKey = /^[a-z]+-\d{1,9}$/i;

export interface PaletteProps {
  /** What the user has typed before the palette was loaded. */
  typed: RefObject<string>;
  /** Whether the user has pressed Enter since. */
  isEntered: RefObject<boolean>;
  onClose: () => void;
}

/** Finds the commands of the page and issues by key or words. */
export function Palette({ typed, isEntered, onClose }: PaletteProps) {
  const [search, setSearch] = useState('');
  // React renders this some time before it replaces the field in which the user types.
  useLayoutEffect(() => setSearch(typed.current), [typed]);
  const navigate = useNavigate();
  const words = search.trim();
  const parts = words.toLowerCase().split(/\s+/);
  const commands = useAllCommands().filter(
    ({ key, name }) => key !== 'Escape' && parts.every((part) => name.toLowerCase().includes(part)),
  );
  const [settled, settle] = useSettled(words);
  const { data, isError, isPlaceholderData } = useQuery({
    queryKey: ['palette', settled],
    queryFn: ({ signal }) => listIssues({ search: settled }, undefined, signal),
    enabled: settled.length > 1,
    placeholderData: keepPreviousData,
  });
  const issues = words.length > 1 ? (data?.items.slice(0, found) ?? []) : [];
  const isPending =
    words.length > 1 && !isError && (settled !== words || isPlaceholderData || data === undefined);
  // After the dialog has given back the focus.
  const choose = (run: () => void) => () => {
    onClose();
    setTimeout(run);
  };
  const open = (key: string) => choose(() => void navigate({ to: '/issues/$key', params: { key } }));
  // Enter acts on what was typed, when it arrives.
  const [entered, setEntered] = useState(isEntered.current ? typed.current.trim() : undefined);
  const enter = () => {
    if (isKey.test(words)) open(words.toUpperCase())();
    else {
      settle();
      setEntered(words);
    }
  };
  const isDue = entered !== undefined && entered === words && (!isPending || isKey.test(words));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the issues have arrived
  useEffect(() => {
    if (!isDue) return;
    setEntered(undefined);
    const [first] = commands;
    const key = isKey.test(words) ? words.toUpperCase() : issues[0]?.key;
    if (first !== undefined) choose(first.run)();
    else if (key !== undefined) open(key)();
  }, [isDue]);
  return (
    <Dialog title="Commands" onClose={onClose} isAtTop>
      {/* The order stays as it is when issues arrive: Enter chooses what is shown as chosen. */}
      <Command
        label="Commands"
        className="palette"
        shouldFilter={false}
        onKeyDown={onKey((key, event: KeyboardEvent) => {
          // Otherwise the palette would choose among the issues of the words before, or nothing.
          if (key !== 'Enter' || commands.length > 0 || !(isPending || isKey.test(words))) return;
          event.preventDefault();
          enter();
        })}
      >
        <Command.Input
          ref={(field) => field?.setAttribute('autofocus', '')}
          placeholder="Find a command or an issue"
          dir="auto"
          maxLength={150}
          value={search}
          onValueChange={setSearch}
        />
        {!isError && <Command.Empty>{isPending ? 'Searching…' : 'No match'}</Command.Empty>}
        <Command.List label="Commands">
          {commands.map(({ name, key, run }) => (
            <Command.Item key={`${name} ${key}`} value={name} onSelect={choose(run)}>
              <span>{name}</span>
              {key !== undefined && (
                <span className="palette-keys" aria-hidden="true">
                  {shownKeys(key).map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </span>
              )}
            </Command.Item>
          ))}
          {issues.map(({ key, title, status }) => (
            <Command.Item key={key} value={key} onSelect={open(key)}>
              <span className="muted">{key}</span>
              <span className="palette-title" dir="auto">
                {title}
              </span>
              <span className="palette-keys">
                <StatusMark status={status} />
              </span>
            </Command.Item>
          ))}
        </Command.List>
      </Command>
      {isError && <p role="alert">The issues could not be searched.</p>}
    </Dialog>
  );
}
