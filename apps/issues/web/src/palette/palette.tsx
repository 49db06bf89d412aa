import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useState } from 'react';
import { listIssues } from '../http/api.ts';
import { useAllCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { StatusMark } from '../shell/icons.tsx';

const found = 8;

/** Finds the commands of the page and issues by key or words. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [search, setSearch] = useState('');
  const navigate = useNavigate();
  const commands = useAllCommands().filter(({ key }) => key !== 'Escape');
  const words = search.trim();
  const { data: issues } = useQuery({
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
      <Command label="Commands" className="palette">
        <Command.Input
          ref={(field) => field?.setAttribute('autofocus', '')}
          placeholder="Find a command or an issue"
          maxLength={150}
          value={search}
          onValueChange={setSearch}
        />
        <Command.List label="Commands">
          <Command.Empty>No match</Command.Empty>
          {commands.map(({ name, key, run }) => (
            <Command.Item key={`${name} ${key}`} value={name} onSelect={choose(run)}>
              <span>{name}</span>
              {key !== undefined && (
                <span className="palette-keys" aria-hidden="true">
                  {key.split(' ').map((one) => (
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
                // The service has chosen them, also by other words than those of the title.
                keywords={[title, words]}
                onSelect={choose(() => void navigate({ to: '/issues/$key', params: { key } }))}
              >
                <StatusMark status={status} />
                <span className="muted">{key}</span>
                <span className="palette-title">{title}</span>
              </Command.Item>
            ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
