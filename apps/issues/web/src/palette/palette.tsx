import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useState } from 'react';
import { findPeople } from '../http/api.ts';
import { FoundIssueText, useFoundIssues } from '../issue-list/found-issues.tsx';
import { personName } from '../messages.ts';
import { type Command as PageCommand, shownKeys, useAllCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { onKey } from '../shell/keys.ts';
import { useSettled } from '../shell/use-settled.ts';

const isKey = /^[a-z]+-\d{1,9}$/i;
const assigning = /^assign(?:ee)?(?: to)? (.+)$/i;
const groups = ['Issue', 'Go to', 'Views', 'Settings', 'Commands'] as const;

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
  const all = useAllCommands();
  const matching = all.filter(
    ({ key, name, isValue = false }) =>
      key !== 'Escape' && (words.length > 2 || !isValue) && matches(name, words),
  );
  const named = useNamedPeople(all, words);
  const commands = groups.flatMap((group) =>
    [
      ...(group === 'Issue' ? named : []),
      ...matching.filter((command) => (command.group ?? 'Commands') === group),
    ].map((command) => ({ ...command, group })),
  );
  const { issues, isPending, isError, settle } = useFoundIssues(words);
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
    <Dialog title="Commands" onClose={onClose} isAtTop isWide>
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
          {groups
            .filter((group) => commands.some((command) => command.group === group))
            .map((group) => (
              <Command.Group key={group} heading={group}>
                {commands
                  .filter((command) => command.group === group)
                  .map(({ name, key, run }) => (
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
              </Command.Group>
            ))}
          {issues.length > 0 && (
            <Command.Group heading={words === '' ? 'Recent' : 'Issues found'}>
              {issues.map((issue) => (
                <Command.Item key={issue.key} value={issue.key} onSelect={open(issue.key)}>
                  <FoundIssueText issue={issue} />
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
      {isError && <p role="alert">The issues could not be searched.</p>}
    </Dialog>
  );
}

/** Each word is a part of the name, or its letters follow each other in one of the name's words. */
function matches(name: string, words: string): boolean {
  const text = name.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((part) => text.includes(part) || text.split(' ').some((word) => hasLetters(word, part)));
}

function hasLetters(word: string, letters: string): boolean {
  if (letters.length < 3 || word[0] !== letters[0]) return false;
  let place = 0;
  for (const letter of word) if (letter === letters[place]) place += 1;
  return place === letters.length;
}

/** The commands that assign the issues of the page to people whose names begin as the words after "assign to". */
function useNamedPeople(commands: readonly PageCommand[], words: string): PageCommand[] {
  const assign = commands.find((command) => command.assign !== undefined)?.assign;
  const [settled] = useSettled(assigning.exec(words)?.[1] ?? '');
  const { data = [] } = useQuery({
    queryKey: ['people', settled],
    queryFn: ({ signal }) => findPeople(settled, signal),
    enabled: assign !== undefined && settled.length > 1,
    staleTime: 60_000,
  });
  if (assign === undefined || !assigning.test(words)) return [];
  return data.slice(0, 5).map((person) => ({
    name: `Assign to ${personName(person)} (${person.username})`,
    run: () => assign(person),
  }));
}
