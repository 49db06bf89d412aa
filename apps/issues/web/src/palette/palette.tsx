import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type RefObject, useLayoutEffect, useState } from 'react';
import { listIssues } from '../http/api.ts';
import { shownKeys, useAllCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { StatusMark } from '../shell/icons.tsx';

const found = 8;

interface PaletteProps {
  /** What the user has typed before the palette was loaded. */
  typed: RefObject<string>;
  onClose: () => void;
}

/** Finds the commands of the page and issues by key or words. */
export function Palette({ typed, onClose }: PaletteProps) {
  const [search, setSearch] = useState('');
  // React renders this some time before it replaces the field in which the user types.
  useLayoutEffect(() => setSearch(typed.current), [typed]);
  const navigate = useNavigate();
  const words = search.trim();
  const parts = words.toLowerCase().split(/\s+/);
  const commands = useAllCommands().filter(
    ({ key, name }) => key !== 'Escape' && parts.every((part) => name.toLowerCase().includes(part)),
  );
  const { data: issues, isError } = useQuery({
    queryKey: ['palette', words],
    queryFn: ({ signal }) => listIssues({ search: words }, undefined, signal),
    enabled: words.length > 1,
    placeholderData: keepPreviousData,
  });
  // After the dialog has given back the focus.
  const choose = (run: () => void) => () => {
    onClose();
    setTimeout(run);
  };
  return (
    <Dialog title="Commands" onClose={onClose}>
      {/* The order stays as it is when issues arrive: Enter chooses what is shown as chosen. */}
      <Command label="Commands" className="palette" shouldFilter={false}>
        <Command.Input
          ref={(field) => field?.setAttribute('autofocus', '')}
          placeholder="Find a command or an issue"
          dir="auto"
          maxLength={150}
          value={search}
          onValueChange={setSearch}
        />
        {!isError && <Command.Empty>No match</Command.Empty>}
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
          {words.length > 1 &&
            issues?.items.slice(0, found).map(({ key, title, status }) => (
              <Command.Item
                key={key}
                value={key}
                onSelect={choose(() => void navigate({ to: '/issues/$key', params: { key } }))}
              >
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
